"""Sums that cancel: to nothing, to any number of bits, and across weights that are irrational."""

from __future__ import annotations

import math
from typing import Final

import torch

from fuzz.bits import exponent_of
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice, Span
from fuzz.targets import deal, place

KINDS: Final = ("zero", "dyadic", "irrational")
"""Quotients of exactly 0; quotients 2^-depth of the largest share; maxima in quarters, where each segment
takes up the rest that the ones before it leave."""

_QUARTERS: Final = 4
_CHAIN: Final = 6
"""Segments that take part in an irrational cancellation; each removes about 24 bits."""
_POINT: Final = 256
"""Binary places of the fixed-point numbers below."""


def _roots() -> tuple[int, ...]:
    """Return 2^(k/4) · 2^_POINT, k = 0 … 3, rounded down."""
    half = math.isqrt(2 << (2 * _POINT))
    quarter = math.isqrt(half << _POINT)
    return 1 << _POINT, quarter, half, (quarter * half) >> _POINT


def chain(start: float, quarters: list[int], depth: int) -> list[float]:
    """Return o_i with Σ o_i·2^(quarters_i / 4) cancelling `depth` links deep, o_0 = start; then zeros."""
    roots = _roots()
    values = [start]
    rest = int(start * 2.0**64) * roots[quarters[0]] >> 64
    for quarter in quarters[1:]:
        if len(values) > depth or rest == 0:
            values.append(0.0)
            continue
        exact = -(rest << _POINT) // roots[quarter]
        cut = max(0, abs(exact).bit_length() - 24)
        exact = (exact >> cut) << cut
        values.append(math.ldexp(exact >> cut, cut - _POINT))
        rest += exact * roots[quarter] >> _POINT
    return values


def _irrational(draft: Draft, rows: torch.Tensor) -> None:
    here = draft.written & rows[..., None]
    slots = deal(draft, here, "chain")
    # Neighbours in the chain differ, else the second link would cancel to nothing.
    first = draft.stream.below("chain f", _QUARTERS, *draft.row_shape)[..., None]
    step = 1 + 2 * draft.stream.below("chain step", 2, *draft.row_shape)[..., None]
    quarters = (first + step * slots.number) % _QUARTERS
    start = draft.stream.spread("chain o", -1, 1, *draft.row_shape, draft.recipe.rank)
    depth = draft.stream.span("chain depth", 1, _CHAIN - 1, *start.shape)
    for t, h in rows.nonzero().tolist():
        count = int(slots.count[t, h])
        members = slots.number[t, h].argsort()[: min(count, _CHAIN)]
        if count == 0:
            continue
        fractions = quarters[t, h, members].tolist()
        columns = [
            chain(x, fractions, deep)
            for x, deep in zip(start[t, h].tolist(), depth[t, h].tolist(), strict=True)
        ]
        draft.o[t, h][slots.number[t, h] < count] = 0.0
        draft.o[t, h, members] = torch.tensor(columns, dtype=torch.float64).T
    draft.m = torch.where(here, quarters.to(torch.float64) * 0.25, draft.m)
    draft.s = torch.where(here, 1.0 + draft.stream.unit("chain s", *draft.stat_shape), draft.s)


def _fill(draft: Draft) -> None:
    kind = draft.kind_of_row("kind", KINDS)
    columns = (*draft.row_shape, draft.recipe.rank)
    target = draft.stream.spread("rest", -12, 12, *columns)
    target = torch.where((kind == KINDS.index("zero"))[..., None], 0.0, target)
    depth = draft.stream.below("depth", int(draft.recipe.params["depth"]) + 1, *columns)
    noise = exponent_of(target).clamp_min(-12) + depth
    place(draft, target, draft.written, noise=noise, label="rest")
    _irrational(draft, kind == KINDS.index("irrational"))


FAMILY = Family(
    name="cancellation",
    domain=Domain.STRESS,
    promise="Each row with four or more active segments has shares that cancel by up to the recipe's depth "
    "in bits, to zero, or along a chain of irrational weights.",
    fill=_fill,
    parameters={
        "kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE),
        "depth": Span(low=1, high=240),
        "lengths": LENGTHS,
    },
    shapes=Shapes(least_segments=4),
)
