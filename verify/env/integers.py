"""Index arithmetic in 32 bits, and division of negative integers."""

from __future__ import annotations

from functools import partial

import torch

from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import witness

WRAPPED, WIDENED, OTHER = "wrapped", "widened", "another number"
TRUNCATED, FLOORED = "towards zero", "down"

_FOLLOWS_INDEX = (
    "offsets beyond 2^31 elements and the partition of long rows: a kernel that multiplies in 32 bits reads "
    "elsewhere, or takes a row for an empty one"
)
_FOLLOWS_DIVISION = (
    "the number of active segments where a kernel divides a length that may be 0 or below, or L - 1"
)


def _overflow(operation: str, operands: tuple[int, int], right: int, engine: Engine, _: int) -> Answer:
    given = tuple(torch.tensor([x], dtype=torch.int32) for x in operands)
    got = engine.compute(operation, *given, into=torch.int64)
    wrapped = (right + (1 << 31)) % (1 << 32) - (1 << 31)
    answer = {right: WIDENED, wrapped: WRAPPED}.get(int(got), OTHER)
    return Answer(answer=answer, witness=witness(given, got, right=torch.tensor([right])))


def _division(operation: str, answers: dict[int, str], engine: Engine, _: int) -> Answer:
    given = tuple(torch.tensor([x], dtype=torch.int32) for x in (-7, 2))
    got = engine.compute(operation, *given, into=torch.int64)
    return Answer(answer=answers.get(int(got), OTHER), witness=witness(given, got))


def _index(operation: str, operands: tuple[int, int], right: int) -> Probe:
    return Probe(
        name=f"32 bits/{operation}",
        question=f"What is the {operation} of the int32s {operands[0]} and {operands[1]}, taken as int64?",
        needs=frozenset((operation,)),
        answers=(WRAPPED, WIDENED, OTHER),
        follows=_FOLLOWS_INDEX,
        find=partial(_overflow, operation, operands, right),
    )


def _rounding(operation: str, answers: dict[int, str]) -> Probe:
    return Probe(
        name=f"negative/{operation}",
        question=f"Which way does {operation} of -7 and 2 round?",
        needs=frozenset((operation,)),
        answers=(TRUNCATED, FLOORED, OTHER),
        follows=_FOLLOWS_DIVISION,
        find=partial(_division, operation, answers),
    )


PROBES = (
    _index("product", (46341, 46341), 46341**2),
    _index("product of arguments", (46341, 46341), 46341**2),
    _index("sum", (2**31 - 1, 1), 2**31),
    _rounding("divide integers", {-3: TRUNCATED, -4: FLOORED}),
    _rounding("remainder", {-1: TRUNCATED, 1: FLOORED}),
)
