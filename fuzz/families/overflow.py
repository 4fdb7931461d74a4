"""Results at the edge of the output format, and sums beyond float32 whose quotient is an ordinary number."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import exponent_of, scale_by_power
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice
from fuzz.targets import place

KINDS: Final = ("edge", "beyond", "sums", "mass", "both")
"""Results within 2 ulp of the largest finite value by quarters; up to 2^12 times as large; |o| near 3e38;
s near 3e38; both."""

_HUGE: Final = 3.4e38


def edges(draft: Draft) -> torch.Tensor:
    """Return ±(max + q·ulp/4), q in −8 … 8 and a few steps of 2^-16 ulp beside it, [T, H, R]."""
    fmt, stream, shape = draft.format, draft.stream, (*draft.row_shape, draft.recipe.rank)
    ulp = 2.0 ** (fmt.emax - fmt.precision + 1)
    quarters = stream.span("edge q", -8, 8, *shape).to(torch.float64) * 0.25
    step = stream.span("edge step", -1, 1, *shape).to(torch.float64) * 2.0**-16
    return stream.signs("edge ±", *shape) * (fmt.max_value + (quarters + step) * ulp)


def _fill(draft: Draft) -> None:
    stream = draft.stream
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    edge = edges(draft)
    beyond = scale_by_power(edge, stream.below("beyond", 13, *edge.shape))
    target = torch.where(kind == KINDS.index("beyond"), beyond, edge)
    ordinary = draft.o, draft.m, draft.s
    place(draft, target, draft.written, noise=exponent_of(target) - 3, label="edge")
    placed = (kind == KINDS.index("edge")) | (kind == KINDS.index("beyond"))
    draft.o = torch.where(placed[..., None], draft.o, ordinary[0])
    draft.m = torch.where(placed, draft.m, ordinary[1] / 64)
    draft.s = torch.where(placed, draft.s, ordinary[2])

    fraction = 0.5 + stream.unit("huge o", *draft.shape) * 0.5
    # One sign for most columns, so that the sum really leaves float32; mixed signs in the others.
    column = stream.signs("huge column", *draft.row_shape, 1, draft.recipe.rank)
    mixed = stream.below("huge mixed", 4, *draft.row_shape, 1, draft.recipe.rank) == 0
    sign = torch.where(mixed, stream.signs("huge ±", *draft.shape), column)
    wide = (kind == KINDS.index("sums")) | (kind == KINDS.index("both"))
    draft.o = torch.where(wide[..., None], sign * fraction * _HUGE, draft.o)
    heavy = (kind == KINDS.index("mass")) | (kind == KINDS.index("both"))
    draft.s = torch.where(heavy, (0.5 + stream.unit("huge s", *draft.stat_shape) * 0.5) * _HUGE, draft.s)


FAMILY = Family(
    name="overflow",
    domain=Domain.STRESS,
    promise="Each active row has results at or beyond the output format's largest value, or numbers of more "
    "than half of float32's, as the recipe's kind says.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
