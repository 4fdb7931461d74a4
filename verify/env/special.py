"""NaN, zeros of both signs and infinities through the operations that a merge is made of."""

from __future__ import annotations

import math
from functools import partial

import torch

from verify.env.probe import Answer, Engine, Find, Probe
from verify.env.shown import witness

_NAN, _INF = math.nan, math.inf

PROPAGATED, NUMBER = "NaN wherever it stands", "the number"
FIRST, SECOND, OTHER = "the first operand", "the second operand", "something else"
LEAST, MOST = "the lower limit", "the upper limit"
PLUS, MINUS = "+0", "-0"
KINDS = ("+0", "-0", "+inf", "-inf", "NaN", "a number")
SOMETIMES = "NaN or not, by its place"

_FOLLOWS_NAN = (
    "rows with NaN: a maximum that drops it lets a broken segment vanish, or weigh as an ordinary one"
)
_FOLLOWS_CLAMP = "NaN before a store that clamps: fp8 outputs of a broken row become ordinary numbers"
_FOLLOWS_ZERO = "the sign of a zero maximum, and so the bits of what is stored or compared by bits; no value"


def _pair(operation: str, engine: Engine, _: int) -> Answer:
    left, right = torch.tensor([_NAN, 1.0]), torch.tensor([1.0, _NAN])
    got = engine.compute(operation, left, right)
    answers = {
        (True, True): PROPAGATED,
        (False, False): NUMBER,
        (True, False): FIRST,
        (False, True): SECOND,
    }
    lost = int((~got.isnan()).int().argmax())  # the order in which NaN vanishes, if there is one
    return Answer(answer=answers[tuple(got.isnan().tolist())], witness=witness((left, right), got, lost))


def _clamp(operation: str, engine: Engine, _: int) -> Answer:
    operands = tuple(torch.tensor([x]) for x in (_NAN, -448.0, 448.0))
    got = engine.compute(operation, *operands)
    value = float(got)
    answer = PROPAGATED if math.isnan(value) else {-448.0: LEAST, 448.0: MOST}.get(value, OTHER)
    return Answer(answer=answer, witness=witness(operands, got))


def _row(engine: Engine, _: int) -> Answer:
    rows = torch.arange(1.0, 33.0).repeat(32, 1)
    rows[torch.arange(32), torch.arange(32)] = _NAN
    got = engine.reduce("largest of a row", rows)
    told = got.isnan()
    answer = PROPAGATED if bool(told.all()) else SOMETIMES if bool(told.any()) else NUMBER
    lost = int((~told).int().argmax())
    return Answer(
        answer=answer,
        # The element that is NaN, and the largest of the others.
        witness=witness((rows.diagonal(), rows.nan_to_num(0.0).amax(1)), got, lost),
        measured={"rows": len(got), "NaN": int(told.sum())},
    )


def _zeros(operation: str, engine: Engine, _: int) -> Answer:
    left, right = torch.tensor([-0.0, 0.0]), torch.tensor([0.0, -0.0])
    got = engine.compute(operation, left, right)
    answers = {
        (False, False): PLUS,
        (True, True): MINUS,
        (True, False): FIRST,
        (False, True): SECOND,
    }
    return Answer(answer=answers[tuple(got.signbit().tolist())], witness=witness((left, right), got))


def _kind(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if value == 0 or math.isinf(value):
        sign = "-" if math.copysign(1.0, value) < 0 else "+"
        return sign + ("0" if value == 0 else "inf")
    return "a number"


def _value(operation: str, operands: tuple[float, ...], engine: Engine, _: int) -> Answer:
    given = tuple(torch.tensor([x]) for x in operands)
    got = engine.compute(operation, *given)
    return Answer(answer=_kind(float(got)), witness=witness(given, got))


def _special(operation: str, operands: tuple[float, ...], right: str, follows: str) -> Probe:
    said = ", ".join(f"{x:g}" for x in operands)
    return Probe(
        name=f"special/{operation}({said})",
        question=f"What is {operation} of {said}?",
        needs=frozenset((operation,)),
        answers=(right, *(kind for kind in KINDS if kind != right)),
        follows=follows,
        find=partial(_value, operation, operands),
    )


def _probe(
    name: str, operation: str, question: str, answers: tuple[str, ...], follows: str, find: Find
) -> Probe:
    return Probe(
        name=f"{name}/{operation}",
        question=question,
        needs=frozenset((operation,)),
        answers=answers,
        follows=follows,
        find=find,
    )


_PAIRS = ("maximum", "minimum", "maximum, NaN too", "minimum, NaN too")
_CLAMPS = ("clamp", "clamp, NaN too")
_EMPTY = "weights and lse of empty segments, whose maximum is -inf"
PROBES = (
    *(
        _probe(
            "NaN",
            operation,
            f"What is {operation} of NaN and a number, in both orders?",
            (PROPAGATED, NUMBER, FIRST, SECOND),
            _FOLLOWS_NAN,
            partial(_pair, operation),
        )
        for operation in _PAIRS
    ),
    *(
        _probe(
            "NaN",
            operation,
            f"What is {operation} of NaN to -448 … 448?",
            (PROPAGATED, LEAST, MOST, OTHER),
            _FOLLOWS_CLAMP,
            partial(_clamp, operation),
        )
        for operation in _CLAMPS
    ),
    _probe(
        "NaN",
        "largest of a row",
        "Is the largest of 32 numbers NaN where one of them is, wherever that stands?",
        (PROPAGATED, NUMBER, SOMETIMES),
        _FOLLOWS_NAN,
        _row,
    ),
    *(
        _probe(
            "zeros",
            operation,
            f"Which zero is {operation} of -0 and +0, in both orders?",
            (PLUS, MINUS, FIRST, SECOND) if operation == "maximum" else (MINUS, PLUS, FIRST, SECOND),
            _FOLLOWS_ZERO,
            partial(_zeros, operation),
        )
        for operation in _PAIRS[:2]
    ),
    _special("exp2", (-_INF,), "+0", _EMPTY),
    _special("exp2", (_INF,), "+inf", "weights above an overflowed maximum"),
    _special("exp2", (_NAN,), "NaN", "rows with NaN in a maximum"),
    _special("exp2", (-200.0,), "+0", "weights far below the maximum"),
    _special("log2", (0.0,), "-inf", "the lse of a row without mass"),
    _special("log2", (-1.0,), "NaN", "the lse of a row whose mass is negative, which is to be NaN"),
    _special(
        "add",
        (_INF, -_INF),
        "NaN",
        "sums of values that hold infinities of both signs",
    ),
    _special("add", (-_INF, -_INF), "-inf", _EMPTY),
    _special("multiply", (0.0, _INF), "NaN", "infinite values of segments whose weight has underflowed"),
    _special("divide", (1.0, 0.0), "+inf", "outputs of a row whose mass has underflowed"),
    _special("divide", (0.0, 0.0), "NaN", "outputs of a row without mass that nobody asks for"),
    _special("divide", (_INF, _INF), "NaN", "outputs of a row whose sums have overflowed"),
    _special("divide", (1.0, 3e38), "a number", "outputs of a row whose mass is close to float32's largest"),
)
