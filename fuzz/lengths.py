"""Sequence lengths by the number of segments that they make active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from fuzz.bits import Stream
from fuzz.parameters import Choice

if TYPE_CHECKING:
    from fuzz.recipe import Recipe

LENGTHS: Final = Choice(values=("full", "mixed", "partial"))
"""The parameter `lengths`: all segments active; any number, rarely none; fewer than all where S > 1."""

_MAX_TILES = 4
"""Tiles per segment, at most, in lengths drawn here."""


def drawn(recipe: Recipe, stream: Stream) -> torch.Tensor:
    """Return L [T] int64 as the recipe's parameter `lengths` says, "full" where the family has none."""
    kind = recipe.params.get("lengths", "full")
    shape, segments, tile = (recipe.tokens,), recipe.segments, recipe.tile_size
    tiles = stream.span("length tiles", 1, _MAX_TILES, *shape)
    short = stream.below("length short", tile, *shape)
    full = segments * tile * tiles - short
    # The last tile may be a partial one: tile · S · k − short still needs all S segments, as short < tile.
    few = stream.span("length active", 1, max(1, segments - 1), *shape) * tile - short
    if kind == "full":
        return full
    if kind == "partial":
        return few
    long = stream.span("length any", 1, segments * tile * _MAX_TILES, *shape)
    which = stream.below("length kind", 8, *shape)
    mixed = torch.where(which < 3, full, torch.where(which < 5, few, long))
    return torch.where(which == 7, -stream.below("length none", 2, *shape), mixed)
