"""Random partials, as the gates draw them."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.case import Domain, MergeCase

_TILE = 16
_TILES = 4  # that a segment has at most, where lengths are drawn


def drawn(
    generator: torch.Generator,
    shape: tuple[int, int, int, int],
    out_dtype: str,
    *,
    spread: float = 1.0,
    normalised: bool = False,
    lengths: Tensor | None = None,
) -> MergeCase:
    """Return partials of the shape [T, H, S, R]: m = randn · spread, s = |randn · spread|, o = randn.

    A normalised o is given as randn · s. Without lengths [T], every segment is active.
    """
    tokens, _, segments, _ = shape
    m = torch.randn(shape[:3], generator=generator) * spread
    s = (torch.randn(shape[:3], generator=generator) * spread).abs()
    o = torch.randn(shape, generator=generator)
    whole = torch.full((tokens,), segments * _TILE, dtype=torch.int32)
    return MergeCase(
        segm_output=o * s[..., None] if normalised else o,
        segm_max=m,
        segm_expsum=s,
        seq_lens=whole if lengths is None else lengths,
        tile_size=_TILE,
        out_dtype=out_dtype,
        domain=Domain.STRESS,
    )


def some_lengths(generator: torch.Generator, tokens: int, segments: int) -> Tensor:
    """Return lengths [T], one of four tiles in each of S segments and the others anything up to that."""
    longest = segments * _TILE * _TILES
    lengths = torch.randint(1, longest + 1, (tokens,), generator=generator, dtype=torch.int32)
    lengths[0] = longest
    return lengths
