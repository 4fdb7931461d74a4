"""Probes of single operations name what is planted: flushes, fusions, NaNs, zeros, integers, refusals."""

from __future__ import annotations

import pytest
import torch

from verify.env.probe import REFUSED, Answer, Probe, RefusedError
from verify.env.registry import PROBES
from verify.env.tests.engines import HONEST, ask, seen

SUBNORMAL = [
    name
    for name, probe in PROBES.items()
    if name.startswith("subnormal") and probe.needs <= HONEST.operations
]


def flush(x):
    return torch.where(x.abs() < torch.finfo(x.dtype).smallest_normal, torch.zeros_like(x), x)


def both(operation):
    """Return faults that flush the operands of an operation, and its result."""
    return (
        {operation: lambda *x: HONEST.compute(operation, *map(flush, x[:-1]), into=x[-1])},
        {operation: lambda *x: flush(HONEST.compute(operation, *x[:-1], into=x[-1]))},
    )


@pytest.mark.parametrize("name", SUBNORMAL)
def test_what_flushes_is_told_from_what_does_not(name):
    (operation,) = PROBES[name].needs
    operands, results = both(operation)
    side = name.split()[1].partition("/")[0]
    assert ask(name, operands).answer == ("kept" if side == "result" else "flushed")
    assert ask(name, results).answer == ("kept" if side == "operand" else "flushed")
    assert ask(name, {}).answer == "kept"
    assert ask(name, {operation: lambda *x: torch.full((1,), 3.0)}).answer == "another number"


def test_the_witness_of_a_flush_says_what_is_right():
    shown = seen(ask("subnormal result/multiply", both("multiply")[1]))
    assert shown.right is not None
    assert [x.hex for x in shown.operands] == ["0x1p-100", "0x1p-40"]
    assert (shown.got.bits, shown.right.bits) == ("0x00000000", "0x00000200")


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2.0**-24), ("float64", 2.0**-54)])
def test_contraction(dtype, unit):
    name = f"contraction/multiply, then subtract/{dtype}"
    separate = {"multiply, then subtract": lambda a, b, c, _: a * b - c}
    fused = {"multiply, then subtract": lambda a, b, c, _: torch.full_like(a, unit)}
    assert ask(name, separate).answer == "rounded twice"
    assert ask(name, fused).answer == "fused"
    assert ask(name, {"multiply, then subtract": lambda a, *_: a}).answer == "another number"


@pytest.mark.parametrize(
    ("answer", "maximum"),
    [
        ("NaN wherever it stands", torch.maximum),
        ("the number", torch.fmax),
        ("the second operand", lambda a, b: torch.where(a > b, a, b)),
        ("the first operand", lambda a, b: torch.where(b > a, b, a)),
    ],
)
def test_nan_through_a_maximum(answer, maximum):
    found = ask("NaN/maximum", {"maximum": lambda a, b, _: maximum(a, b)})
    assert found.answer == answer
    assert (seen(found).got.dec == "nan") == (answer == "NaN wherever it stands")
    assert "nan" in [x.dec for x in seen(found).operands]


@pytest.mark.parametrize(
    ("answer", "clamp"),
    [
        ("NaN wherever it stands", torch.clamp),
        ("the lower limit", lambda a, low, high: torch.fmin(torch.fmax(a, low), high)),
        ("the upper limit", lambda a, low, high: torch.fmax(torch.fmin(a, high), low)),
        ("something else", lambda a, low, high: torch.nan_to_num(a)),
    ],
)
def test_nan_through_a_clamp(answer, clamp):
    assert ask("NaN/clamp", {"clamp": lambda a, low, high, _: clamp(a, low, high)}).answer == answer


@pytest.mark.parametrize(
    ("answer", "largest"),
    [
        ("NaN wherever it stands", lambda rows: rows.amax(1)),
        ("the number", lambda rows: rows.nan_to_num(0.0).amax(1)),
        ("NaN or not, by its place", lambda rows: torch.where(rows[:, 0].isnan(), torch.nan, 1.0)),
    ],
)
def test_nan_in_a_row(answer, largest):
    found = ask("NaN/largest of a row", {"largest of a row": largest})
    assert found.answer == answer
    assert seen(found).operands[0].dec == "nan"
    assert (seen(found).got.dec == "nan") == (answer == "NaN wherever it stands")


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("+0", lambda a, b: torch.zeros(2)),
        ("-0", lambda a, b: -torch.zeros(2)),
        ("the first operand", lambda a, b: a),
        ("the second operand", lambda a, b: b),
    ],
)
def test_zeros(answer, result):
    assert ask("zeros/maximum", {"maximum": lambda a, b, _: result(a, b)}).answer == answer


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("+0", 0.0),
        ("-0", -0.0),
        ("+inf", torch.inf),
        ("-inf", -torch.inf),
        ("NaN", torch.nan),
        ("a number", 2.0),
    ],
)
def test_kinds_of_results(kind, value):
    assert ask("special/exp2(-inf)", {"exp2": lambda x, _: torch.full_like(x, value)}).answer == kind


def test_torch_has_the_special_values_of_ieee():
    for name, probe in PROBES.items():
        if name.startswith("special"):
            assert ask(name, {}).answer == probe.answers[0], name


def test_integers():
    wide = {
        "product": lambda a, b, _: a.long() * b.long(),
        "divide integers": lambda a, b, _: (a / b).trunc(),
    }
    assert ask("32 bits/product", {}).answer == "wrapped"
    assert ask("32 bits/product", wide).answer == "widened"
    assert ask("32 bits/product", {"product": lambda a, b, _: a.long()}).answer == "another number"
    assert ask("negative/divide integers", {}).answer == "down"
    assert ask("negative/divide integers", wide).answer == "towards zero"


def test_a_refusal_is_an_answer_with_its_words():
    def refuse(*_):
        raise RefusedError("TypeError: no such thing")

    found = ask("subnormal result/multiply", {"multiply": refuse})
    assert found == Answer(answer=REFUSED, measured={"said": "TypeError: no such thing"})
    assert ask("order/sum of a row/float32", {"sum of a row": refuse}).answer == REFUSED


def test_an_answer_that_a_probe_does_not_list_is_the_suites_own_fault():
    probe = Probe(
        name="n",
        question="q",
        needs=frozenset(),
        answers=("yes", "no"),
        follows="f",
        find=lambda engine, seed: Answer(answer="perhaps"),
    )
    with pytest.raises(ValueError, match="probe n: 'perhaps' is none of yes, no"):
        probe.ask(HONEST, 0)
