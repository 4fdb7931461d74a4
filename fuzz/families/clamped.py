"""Segments whose first tile was masked: the maximum was reset to 0, and what came later lies far below it."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("phantom", "clamped", "mixed")
"""All but one segment are (0, 0, 0), the one lies far below 0; all have a tiny mass at 0 or above; some of
each kind, one at least far below."""

DEPTHS: Final = (1.0, 20.0, 24.0, 100.0, 126.0, 127.0, 149.0, 150.0, 200.0, 1000.0, 30000.0)
"""How far below 0 the maxima of the segments without a masked tile lie, by row."""


def _fill(draft: Draft) -> None:
    stream, stats = draft.stream, draft.stat_shape
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    spared = draft.index == stream.below("spared", 1 << 16, *draft.row_shape)[..., None] % active
    part = stream.below("part", 3, *stats)
    mixed = kind == KINDS.index("mixed")
    phantom = ((kind == KINDS.index("phantom")) | (mixed & (part == 0))) & ~spared
    clamped = (kind == KINDS.index("clamped")) | (mixed & (part == 1) & ~spared)
    depth = stream.one_of("depth", DEPTHS, *draft.row_shape)[..., None]
    low = -depth - stream.unit("below", *stats)
    # Most maxima were reset to 0; scores above it have moved a few on.
    level = (stream.span("level", -24, 8, *stats)).clamp_min(0).to(torch.float64)
    tiny = stream.spread("tiny", -148, -1, *stats).abs()
    draft.o = torch.where(clamped[..., None], draft.o / draft.s[..., None] * tiny[..., None], draft.o)
    draft.o = torch.where(phantom[..., None], 0.0, draft.o)
    draft.s = torch.where(phantom, 0.0, torch.where(clamped, tiny, draft.s))
    draft.m = torch.where(phantom, 0.0, torch.where(clamped, level, low))


FAMILY = Family(
    name="clamped",
    domain=Domain.STRESS,
    promise="The active segments of each row are phantoms at 0, tiny masses at 0 or above, or live ones 1 to "
    "30001 below it, as the recipe's kind says.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
