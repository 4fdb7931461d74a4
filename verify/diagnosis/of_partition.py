"""Hypotheses of the partition: which segments were read. Only conventions with lengths have one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fuzz.partition import MAX_TILE, active_of
from verify.diagnosis.hypothesis import hypothesis
from verify.diagnosis.merge import Prediction, Setting
from verify.subjects.convention import Lengths


def _has_lengths(x: Setting) -> bool:
    return x.convention.lengths is not Lengths.NONE


def _reading(x: Setting, active: Tensor) -> Iterator[Prediction]:
    if _has_lengths(x):
        yield x.predict(active=active.clamp(0, x.case.S))


@hypothesis("a length that is ignored: every segment is read")
def length_ignored(x: Setting) -> Iterator[Prediction]:
    """Predict that all segments are active."""
    yield from _reading(x, torch.full_like(x.case.active, x.case.S))


@hypothesis("another tile than the producer's")
def another_tile(x: Setting) -> Iterator[Prediction]:
    """Predict the partition by half and twice the tile, and by the tiles of production."""
    tile = x.case.tile_size
    for other in dict.fromkeys((tile // 2, tile * 2, 1, 8, 16, 32, 64, 128)):
        if other not in (0, tile) and other <= MAX_TILE:
            yield from _reading(x, active_of(x.case.seq_lens, x.case.S, other))


@hypothesis("one segment too few")
def one_fewer(x: Setting) -> Iterator[Prediction]:
    """Predict that the last active segment is left out, of several or also a single one."""
    active = x.case.active
    yield from _reading(x, torch.where(active > 1, active - 1, active))
    yield from _reading(x, active - 1)


@hypothesis("one segment too many")
def one_more(x: Setting) -> Iterator[Prediction]:
    """Predict that the segment behind the last active one is read, also of rows without any or not."""
    active = x.case.active
    yield from _reading(x, torch.where(active > 0, active + 1, active))
    yield from _reading(x, active + 1)


@hypothesis("a stale length")
def stale_length(x: Setting) -> Iterator[Prediction]:
    """Predict the partition of a length of one key, and of one key fewer or more."""
    lengths = x.case.seq_lens
    for stale in (lengths.clamp(max=1), lengths - 1, lengths + 1):
        yield from _reading(x, active_of(stale, x.case.S, x.case.tile_size))


@hypothesis("a ragged last tile that is not counted")
def whole_tiles(x: Setting) -> Iterator[Prediction]:
    """Predict the partition of whole tiles."""
    tile = x.case.tile_size
    whole = x.case.seq_lens.to(torch.int64) // tile * tile
    yield from _reading(x, active_of(whole, x.case.S, tile))


@hypothesis("one tile for each segment, where there are several")
def no_grouping(x: Setting) -> Iterator[Prediction]:
    """Predict as many active segments as tiles."""
    lengths = x.case.seq_lens.to(torch.int64)
    yield from _reading(x, torch.where(lengths > 0, (lengths - 1) // x.case.tile_size + 1, 0))


@hypothesis("the largest length of the batch for every token")
def longest(x: Setting) -> Iterator[Prediction]:
    """Predict one length for all."""
    if x.case.T:
        lengths = x.case.seq_lens.max().expand(x.case.T)
        yield from _reading(x, active_of(lengths, x.case.S, x.case.tile_size))


@hypothesis("the length of a neighbouring token")
def neighbour(x: Setting) -> Iterator[Prediction]:
    """Predict the length of the token before or behind, or of the first or the second of each two."""
    token = torch.arange(x.case.T, device=x.case.seq_lens.device)
    for other in (token - 1, token + 1, token - token % 2, token | 1):
        lengths = x.case.seq_lens[other.clamp(0, max(0, x.case.T - 1))]
        yield from _reading(x, active_of(lengths, x.case.S, x.case.tile_size))


@hypothesis("no key read as one")
def at_least_one(x: Setting) -> Iterator[Prediction]:
    """Predict one active segment where there is none."""
    yield from _reading(x, x.case.active.clamp(min=1))


@hypothesis("a negative length read as a huge one")
def unsigned(x: Setting) -> Iterator[Prediction]:
    """Predict that all segments are active for a length below 0."""
    yield from _reading(x, torch.where(x.case.seq_lens < 0, x.case.S, x.case.active))


@hypothesis("segments beyond a power of two that are left out")
def power_of_two(x: Setting) -> Iterator[Prediction]:
    """Predict a limit to the segments, each power of two from 2 to S; no lengths are needed for that."""
    for power in range(1, (x.case.S - 1).bit_length()):
        yield x.predict(active=x.case.active.clamp(max=1 << power))
