"""The self-test passes as things are, and refuses every ruler that is bent on purpose."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

import verify.bench.__main__ as bench
import verify.replay.__main__ as replay
from fuzz import formats
from fuzz.formats import FORMATS
from verify import fuzz, judge, ulp
from verify.cli import selftest
from verify.cli.exits import INTERNAL, guarded
from verify.cli.selftest import COMPARISONS, SelfTestError, check_metric, questions
from verify.museum import __main__ as museum
from verify.oracle.target import Kind
from verify.tests.acceptance import COMPARISONS as ACCEPTANCE

every_format = pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)


def test_it_passes():
    check_metric()


@every_format
def test_the_answers_are_right_in_fractions(fmt):
    """The closed forms agree with the formats' own arithmetic, which shares nothing with the metric."""
    asked = [q for q in questions(fmt) if q.kind is Kind.NUMBER and math.isfinite(q.rounded)]
    assert len(asked) > 30
    for q in asked:
        if not math.isfinite(q.got):
            continue
        unit = Fraction(2) ** (q.exponent - fmt.precision + 1)
        exact = Fraction(q.rounded) + Fraction(q.residual) * unit
        fell = q.exponent > fmt.emin and abs(Fraction(q.got)) < Fraction(2) ** q.exponent
        assert Fraction(q.error) == (Fraction(q.got) - exact) / (unit / 2 if fell else unit), q
        assert q.steps == formats.steps(q.got, q.rounded, fmt), q
        assert q.rounded == formats.round_to(exact, fmt), q


@every_format
def test_every_sort_of_value_is_asked_for(fmt):
    asked = list(questions(fmt))
    tiny, normal = Fraction(2) ** (fmt.emin - fmt.precision + 1), Fraction(2) ** fmt.emin
    for value in (0, tiny, normal, 2 * normal, 1, Fraction(fmt.max_value)):
        for sign in (1, -1):
            assert any(q.rounded == sign * value for q in asked), value
    assert any(math.copysign(1, q.got) < 0 and q.got == 0 for q in asked)
    assert {q.kind for q in asked} == set(Kind) - ({Kind.INFINITE} if fmt.saturates else set())
    assert any(math.isinf(q.got) for q in asked) == fmt.has_inf
    held = torch.tensor([q.got for q in asked], dtype=torch.float64)
    torch.testing.assert_close(held.to(fmt.torch_dtype).double(), held, rtol=0, atol=0, equal_nan=True)


def test_the_comparisons_are_those_of_the_acceptance_case():
    def plain(values):
        return [str(float(x)) for x in values]

    ours = [(plain(c.got), plain(c.exact), c.fault is None) for c in COMPARISONS]
    for asked in ACCEPTANCE:
        got, exact = plain(asked.got), plain(asked.exact)
        wide = [(g[: len(got)], e[: len(exact)], passes) for g, e, passes in ours]
        signs = {"0.0": "-0.0", "-0.0": "0.0"}
        flipped = ([signs.get(x, x) for x in got], [signs.get(x, x) for x in exact], asked.passes)
        assert (got, exact, asked.passes) in wide or flipped in wide, asked.name


def tolerant(got, exact, fmt):
    """Call NaN no error, as a comparison does that asks whether a difference is too large."""
    return RIGHT_ERROR(got, exact, fmt).nan_to_num(nan=0.0)


def in_wrong_binade(got, exact, fmt):
    return RIGHT_ERROR(got, replace(exact, exponent=exact.exponent + 1), fmt)


def never_fallen(value, exact, fmt):
    return torch.zeros_like(value, dtype=torch.bool)


def flushing(got, exact, fmt):
    return RIGHT_ERROR(
        torch.where(got.double().abs() < 2.0**fmt.emin, torch.zeros_like(got), got), exact, fmt
    )


def without_residual(got, exact, fmt):
    return RIGHT_ERROR(got, replace(exact, residual=torch.zeros_like(exact.residual)), fmt)


def unsigned(got, exact, fmt):
    return RIGHT_ERROR(got, exact, fmt).abs()


def infinity_is_no_number(value, fmt):
    return value


def steps_of_magnitudes(got, exact, fmt):
    return RIGHT_STEPS(got.abs(), replace(exact, rounded=exact.rounded.abs()), fmt)


def steps_of_specials(got, exact, fmt):
    distance = RIGHT_STEPS(got, exact, fmt)
    return torch.where(distance == ulp.NO_DISTANCE, 0, distance)


RIGHT_ERROR, RIGHT_STEPS, RIGHT_JUDGE = ulp.error_ulp, ulp.steps, judge.judge

BENT = {
    "a tolerant comparison": ("error_ulp", tolerant),
    "the ulp of another binade": ("error_ulp", in_wrong_binade),
    "no smaller ulp below a power of two": ("_fell", never_fallen),
    "subnormals flushed": ("error_ulp", flushing),
    "no residual": ("error_ulp", without_residual),
    "no sign": ("error_ulp", unsigned),
    "infinity as a number": ("_finite", infinity_is_no_number),
    "steps between magnitudes": ("steps", steps_of_magnitudes),
    "a distance for what has none": ("steps", steps_of_specials),
}


@pytest.mark.parametrize("bent", BENT)
def test_a_bent_metric_is_refused(bent, monkeypatch):
    name, wrong = BENT[bent]
    monkeypatch.setattr(ulp, name, wrong)
    with pytest.raises(SelfTestError) as caught:
        check_metric()
    assert "\n" not in str(caught.value)
    assert "is right" in str(caught.value)


@every_format
def test_a_metric_that_is_bent_in_one_format_is_refused(fmt, monkeypatch):
    def bent(got, exact, of):
        return unsigned(got, exact, of) if of is fmt else RIGHT_ERROR(got, exact, of)

    monkeypatch.setattr(ulp, "error_ulp", bent)
    with pytest.raises(SelfTestError, match=f" in {fmt.name} has an error of "):
        check_metric()


def accepting(judged):
    return replace(judged, output=replace(judged.output, failed=torch.zeros_like(judged.output.failed)))


def rejecting(judged):
    return replace(judged, output=replace(judged.output, failed=torch.ones_like(judged.output.failed)))


def rejecting_lse(judged):
    return replace(judged, lse=replace(judged.lse, failed=torch.ones_like(judged.lse.failed)))


def unnamed(judged):
    return replace(judged, faults=judged.faults[:1])


@pytest.mark.parametrize("bend", [accepting, rejecting, rejecting_lse, unnamed])
def test_a_bent_judge_is_refused(bend, monkeypatch):
    monkeypatch.setattr(judge, "judge", lambda *args: bend(RIGHT_JUDGE(*args)))
    with pytest.raises(SelfTestError):
        check_metric()


def test_a_judge_that_asks_whether_a_difference_is_too_large_is_refused(monkeypatch):
    """The public comparison that NaN passes, put in the place of the judge's own."""
    monkeypatch.setattr(judge, "error_ulp", tolerant)
    with pytest.raises(SelfTestError, match=r"a row of \[nan, 2\.0, 3\.0\] .* is accepted"):
        check_metric()


def test_a_judge_that_forgets_what_was_never_written_is_refused(monkeypatch):
    def forgetful(case, returned, exact, bounds):
        none = torch.zeros_like(returned.unwritten_output)
        return RIGHT_JUDGE(case, replace(returned, unwritten_output=none), exact, bounds)

    monkeypatch.setattr(judge, "judge", forgetful)
    with pytest.raises(SelfTestError, match="is accepted"):
        check_metric()


@pytest.mark.parametrize("command", [fuzz.main, replay.main, bench.main, museum.main])
def test_every_command_refuses_to_judge_with_a_bent_metric(command, monkeypatch, capsys):
    monkeypatch.setattr(ulp, "error_ulp", tolerant)
    assert command(["0/1"] if command is replay.main else []) == INTERNAL
    out, error = capsys.readouterr()
    assert out == ""
    assert len(error.splitlines()) == 1
    assert error.startswith("self-test failed: nan for ")
    assert error.endswith("; nothing can be concluded about the kernel\n")


def test_it_is_asked_before_the_command_begins(monkeypatch):
    begun = []

    def command():
        begun.append("command")
        return 0

    monkeypatch.setattr(selftest, "_check_judge", lambda: begun.append("test"))
    assert guarded(command) == 0
    assert begun == ["test", "command"]
