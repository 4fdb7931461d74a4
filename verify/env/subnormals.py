"""Whether subnormal numbers are numbers: as operands, and as results."""

from __future__ import annotations

from functools import partial

import torch

from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import witness

KEPT, FLUSHED, OTHER = "kept", "flushed", "another number"
ANSWERS = (KEPT, FLUSHED, OTHER)

_F64, _F32, _F16, _BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
_TINY = 2.0**-140  # subnormal in float32
_INF = float("inf")

# operation, operands, what is right, what flushing makes of it. Every operand and right result is exact in
# its format. Where operands are asked about the right result is normal, and the reverse.
_OPERANDS = (
    ("add", (2.0**-127, 2.0**-126), 1.5 * 2.0**-126, 2.0**-126),
    ("multiply", (_TINY, 2.0**40), 2.0**-100, 0.0),
    ("divide", (_TINY, 2.0**-40), 2.0**-100, 0.0),
    ("divide", (1.0, 2.0**-127), 2.0**127, _INF),
    ("divide, rounded", (_TINY, 2.0**-40), 2.0**-100, 0.0),
    ("multiply, then subtract", (_TINY, 2.0**40, -(2.0**-110)), 2.0**-100 + 2.0**-110, 2.0**-110),
    ("fma", (_TINY, 2.0**40, -(2.0**-110)), 2.0**-100 + 2.0**-110, 2.0**-110),
    ("log2", (_TINY,), -140.0, -_INF),
)
_RESULTS = (
    ("add", (1.5 * 2.0**-126, -(2.0**-126)), 2.0**-127, 0.0),
    ("multiply", (2.0**-100, 2.0**-40), _TINY, 0.0),
    ("divide", (2.0**-100, 2.0**40), _TINY, 0.0),
    ("divide, rounded", (2.0**-100, 2.0**40), _TINY, 0.0),
    ("multiply, then subtract", (2.0**-60, 2.0**-60, 2.0**-120 - _TINY), _TINY, 0.0),
    ("fma", (2.0**-60, 2.0**-60, 2.0**-120 - _TINY), _TINY, 0.0),
    ("exp2", (-140.0,), _TINY, 0.0),
)
# Subnormal on both sides.
_NUMBERS = (("maximum", (_TINY, -1.0), _TINY, 0.0),)
_CASTS = (
    ("operand", _F16, _F32, 2.0**-20),
    ("number", _BF16, _F32, 2.0**-130),
    ("operand", _F32, _F64, _TINY),
    ("result", _F64, _F32, _TINY),
    ("result", _F32, _F16, 2.0**-20),
    ("number", _F32, _BF16, 2.0**-130),
)
_FOLLOWS = {
    "add": "partial sums of a merge in float32 lose what is below 2^-126",
    "multiply": "weighted values below 2^-126 are lost: a row of tiny values, or far from the maximum, is 0",
    "divide": "outputs below 2^-126 become 0, and a subnormal mass makes them infinite",
    "fma": "weighted values below 2^-126 are lost where products and sums are contracted",
    "exp2": "segments more than 126 octaves below the maximum have no weight, whatever their values are",
    "log2": "the lse of a row whose mass is subnormal becomes -inf, which reads as an empty row",
    "maximum": "maxima next to 0 move to 0, which changes no weight of a float32 merge",
    "cast": "values in the subnormal range of the format become 0, which the contract forbids for outputs",
}


def _find(
    operation: str,
    operands: tuple[float, ...],
    right: float,
    flushed: float,
    engine: Engine,
    _: int,
    *,
    dtype: torch.dtype = _F32,
    into: torch.dtype = _F32,
) -> Answer:
    given = tuple(torch.tensor([x], dtype=dtype) for x in operands)
    got = engine.compute(operation, *given, into=into)
    wanted = torch.tensor([right], dtype=_F64).to(into)
    value = float(got.double())
    answer = KEPT if value == right else FLUSHED if value == flushed else OTHER
    return Answer(answer=answer, witness=witness(given, got, right=wanted))


def _arithmetic(what: str, row: tuple[str, tuple[float, ...], float, float]) -> Probe:
    operation, operands, right, flushed = row
    divisor = "/divisor" if operands == (1.0, 2.0**-127) else ""
    key = operation.partition(",")[0] if operation != "multiply, then subtract" else "fma"
    return Probe(
        name=f"subnormal {what}/{operation}{divisor}",
        question=f"Is a subnormal {what} kept by {operation} of float32s?",
        needs=frozenset((operation,)),
        answers=ANSWERS,
        follows=_FOLLOWS[key],
        find=partial(_find, operation, operands, right, flushed),
    )


def _cast(what: str, dtype: torch.dtype, into: torch.dtype, value: float) -> Probe:
    names = " to ".join(str(x).removeprefix("torch.") for x in (dtype, into))
    return Probe(
        name=f"subnormal {what}/{names}",
        question=f"Is a subnormal {what} kept by the cast from {names}?",
        needs=frozenset(("copy",)),
        answers=ANSWERS,
        follows=_FOLLOWS["cast"],
        find=partial(_find, "copy", (value,), value, 0.0, dtype=dtype, into=into),
    )


PROBES = (
    *(_arithmetic("operand", row) for row in _OPERANDS),
    *(_arithmetic("result", row) for row in _RESULTS),
    *(_arithmetic("number", row) for row in _NUMBERS),
    *(_cast(*row) for row in _CASTS),
)
