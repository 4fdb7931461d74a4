"""The partition, counted by hand and in unbounded integers."""

import random

import pytest
import torch

from fuzz.partition import active_of, active_segments, tiles_per_segment, tiles_per_segment_of

EXTREMES = [0, -1, -(2**31), -(2**63), 1, 2, 2**31 - 1, 2**31, 2**40 + 1, 2**62, 2**63 - 1]


def counted(length: int, segments: int, tile: int) -> int:
    """Deal the tiles of a short row out one by one."""
    tiles = len(range(0, length, tile))
    group = max(1, len(range(0, tiles, segments)))
    return len(range(0, tiles, group))


def producers(length: int, segments: int, tile: int) -> int:
    """Return the producer's own two divisions, in unbounded integers."""
    if length <= 0:
        return 0
    group = -(-length // (segments * tile))
    return -(-length // (group * tile))


@pytest.mark.parametrize(
    ("length", "segments", "tile", "wanted"),
    [(512, 8, 64, 8), (513, 8, 64, 5), (1024, 8, 64, 8), (1025, 8, 64, 6), (2**31 - 1, 128, 128, 128)],
)
def test_the_contracts_examples(length, segments, tile, wanted):
    assert active_segments(length, segments, tile) == wanted
    assert active_of(torch.tensor([length]), segments, tile).tolist() == [wanted]


@pytest.mark.parametrize("segments", [1, 2, 3, 7, 8, 24])
@pytest.mark.parametrize("tile", [1, 2, 3, 16])
def test_equals_a_count_tile_by_tile(segments, tile):
    lengths = list(range(-3, 5 * segments * tile + 3))
    wanted = [counted(length, segments, tile) for length in lengths]
    assert [active_segments(length, segments, tile) for length in lengths] == wanted
    assert active_of(torch.tensor(lengths, dtype=torch.int32), segments, tile).tolist() == wanted


def test_nothing_overflows_for_any_int64_length():
    source = random.Random(0)
    lengths = [source.randrange(-(2**63), 2**63) >> source.randrange(64) for _ in range(300)] + EXTREMES
    for segments in (1, 8, 24, 128, 257):
        for tile in (1, 3, 64, 128, 65536, 2**31 - 1):
            wanted = [producers(length, segments, tile) for length in lengths]
            assert [active_segments(length, segments, tile) for length in lengths] == wanted
            assert active_of(torch.tensor(lengths), segments, tile).tolist() == wanted
            groups = [tiles_per_segment(length, segments, tile) for length in lengths]
            assert tiles_per_segment_of(torch.tensor(lengths), segments, tile).tolist() == groups
