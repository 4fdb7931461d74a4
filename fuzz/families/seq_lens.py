"""Sequence lengths at every boundary of the partition, and beyond what an int32 division survives."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.parameters import ROTATE, Choice
from fuzz.partition import MAX_TILE

KINDS: Final = ("group_edge", "tile_edge", "nonpositive", "int32_edge", "int64_edge")
"""k·S·tile + δ and k·tile + δ with δ in −1 … 1; 0 and below; near 2^31 − 1; near ±2^63 and between."""

WIDTHS: Final = ("int32", "int64")

_INT64_LENGTHS: Final = (2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**53 + 1, 2**62, 2**63 - 2, 2**63 - 1)
_NEGATIVE: Final = (0, -1, -2, -(2**31))
_MAX_INT32: Final = 2**31 - 1


def _fill(draft: Draft) -> None:
    stream, recipe = draft.stream, draft.recipe
    tokens, tile = recipe.tokens, recipe.tile_size
    wide = recipe.params["width"] == "int64"
    draft.length_dtype = torch.int64 if wide else torch.int32
    kind = _kind_of_token(draft)
    step = stream.span("δ", -1, 1, tokens)
    group = recipe.segments * tile
    far = (
        stream.span("near the end", 0, 3, tokens)
        * torch.tensor([0, 1, tile, group])[stream.below("unit", 4, tokens)]
    )
    negative = torch.tensor(_NEGATIVE)[stream.below("negative", len(_NEGATIVE), tokens)]
    huge = torch.tensor(_INT64_LENGTHS)[stream.below("huge", len(_INT64_LENGTHS), tokens)]
    huge = torch.where(stream.below("huge ±", 4, tokens) == 0, ~huge, huge)  # ~(2^63 − 1) is −2^63
    by_kind = (
        stream.span("k", 1, 8, tokens) * group + step,
        stream.span("k tile", 1, 4 * recipe.segments, tokens) * tile + step,
        negative,
        _MAX_INT32 - far,
        huge if wide else _MAX_INT32 - far,
    )
    lengths = torch.stack(by_kind).gather(0, kind[None])[0]
    draft.lengths = lengths if wide else lengths.clamp(-(2**31), _MAX_INT32)
    # Each segment has mass enough for one too many or too few to be seen in any format.
    draft.m = draft.m / 64


def _kind_of_token(draft: Draft) -> torch.Tensor:
    """Return each token's index into KINDS, [T] int64: a length is shared by the token's heads."""
    value = draft.recipe.params["kind"]
    if value != ROTATE:
        return torch.full((draft.recipe.tokens,), KINDS.index(str(value)))
    offset = draft.stream.below("rotate token", len(KINDS), 1)
    return (torch.arange(draft.recipe.tokens) + offset) % len(KINDS)


FAMILY = Family(
    name="seq_lens",
    domain=Domain.STRESS,
    promise="The length of each token lies at a boundary of the partition or of its integer type, as the "
    "recipe's kind says.",
    fill=_fill,
    parameters={
        "kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE),
        "width": Choice(values=WIDTHS),
    },
    shapes=Shapes(tokens=(1, 4, 5, 8, 16, 24, 64, 257), heads=(1, 2, 3), largest_tile=MAX_TILE),
)
