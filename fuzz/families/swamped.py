"""One large share and many small ones, each below what a sum of few bits would notice, together not."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice, Span

KINDS: Final = ("values", "weights", "masses")
"""The small segments have small s and o; the same s and o as the large one, and maxima as far below; small s,
and o of all sizes up to 4·s."""


def _fill(draft: Draft) -> None:
    stream, stats = draft.stream, draft.stat_shape
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    large = draft.index == stream.below("large", 1 << 16, *draft.row_shape)[..., None] % active
    size = 2.0 ** -int(draft.recipe.params["depth"])
    level = stream.span("level", -8, 8, *draft.row_shape)[..., None].to(torch.float64)
    by_weight = kind == KINDS.index("weights")
    gap = float(draft.recipe.params["depth"]) + stream.below("gap", 3, *stats).to(torch.float64)
    mass = 1.0 + stream.unit("mass", *stats)
    # One sign for all small shares of a column, so that they add up.
    columns = (*draft.row_shape, 1, draft.recipe.rank)
    share = stream.signs("small ±", *columns) * (1.0 + stream.unit("small", *columns))
    first = stream.signs("large ±", *columns) * (1.0 + stream.unit("large o", *columns))
    shrunk = torch.where(large | by_weight, 1.0, size)
    ordinary = draft.o / draft.s[..., None]
    spread = (kind == KINDS.index("masses"))[..., None]
    draft.m = torch.where(~large & by_weight, level - gap, level.expand(stats))
    draft.s = mass * shrunk
    draft.o = torch.where(large[..., None], first, torch.where(spread, ordinary, share) * draft.s[..., None])


FAMILY = Family(
    name="swamped",
    domain=Domain.STRESS,
    promise="In each row one active segment has a mass of 1 to 2, and every other one 2^-depth of such a "
    "mass, by its s or by its weight.",
    fill=_fill,
    parameters={
        "kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE),
        "depth": Span(low=4, high=60),
        "lengths": LENGTHS,
    },
    shapes=Shapes(least_segments=2),
)
