"""How a row's keys are divided among segments, in integers that no int64 length can overflow.

This is a statement of the partition of its own: a kernel under test brings its own, and the two must agree.
"""

from __future__ import annotations

from typing import Final

import torch

MAX_TILE: Final = 2**31 - 1
"""Largest tile that is legal."""


def _ceil_div(a: int, b: int) -> int:
    return (a - 1) // b + 1


def tiles_in(length: int, tile_size: int) -> int:
    """Return how many tiles hold `length` keys; 0 where there is no key."""
    return _ceil_div(length, tile_size) if length > 0 else 0


def tiles_per_segment(length: int, segments: int, tile_size: int) -> int:
    """Return how many tiles each segment of a row takes, at least 1."""
    tiles = tiles_in(length, tile_size)
    return _ceil_div(tiles, segments) if tiles > 0 else 1


def active_segments(length: int, segments: int, tile_size: int) -> int:
    """Return how many leading segments of a row were written by the producer."""
    tiles = tiles_in(length, tile_size)
    return _ceil_div(tiles, tiles_per_segment(length, segments, tile_size)) if tiles > 0 else 0


def tiles_per_segment_of(lengths: torch.Tensor, segments: int, tile_size: int) -> torch.Tensor:
    """Return the tiles of each segment for every length, shape [T], int64."""
    tiles = (lengths.to(torch.int64).clamp_min(1) - 1) // tile_size + 1
    return (tiles - 1) // segments + 1


def active_of(lengths: torch.Tensor, segments: int, tile_size: int) -> torch.Tensor:
    """Return the number of active segments for every length, shape [T], int64, on the lengths' device.

    The source is the producer's own division, ceil(q / max(1, ceil(q / S))) with q = ceil(L / tile_size).
    Every ceiling is taken as (a − 1) // b + 1 with a ≥ 1, so that nothing leaves int64.
    """
    keys = lengths.to(torch.int64)
    tiles = (keys.clamp_min(1) - 1) // tile_size + 1
    active = (tiles - 1) // tiles_per_segment_of(keys, segments, tile_size) + 1
    return torch.where(keys > 0, active, torch.zeros_like(active))
