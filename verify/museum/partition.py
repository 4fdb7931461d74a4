"""Faults of the partition: which segments were written by the producer."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class LengthIgnored(Merge):
    """Takes every segment as written, whatever the length."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return torch.full_like(seq_lens, segments, dtype=torch.int64)


class StaleTile(Merge):
    """Divides the keys by a tile of 32, which the producer no longer uses."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens, segments, 32)


class StaleLength(Merge):
    """Reads every length as it was when a sequence had one key at most."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens.clamp(max=1), segments, tile_size)


class OneSegmentTooFew(Merge):
    """Leaves out the last active segment where there are several."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        active = super().active(seq_lens, segments, tile_size)
        return torch.where(active > 1, active - 1, active)


class OneSegmentTooMany(Merge):
    """Reads the segment after the last active one, where there is one."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        active = super().active(seq_lens, segments, tile_size)
        return torch.where(active > 0, active + 1, active).clamp(max=segments)


class TileGroupingIgnored(Merge):
    """Takes one tile for each segment, as if the producer never gave several to one."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        tiles = (seq_lens.to(torch.int64).clamp(min=1) - 1) // tile_size + 1
        return torch.where(seq_lens > 0, tiles.clamp(max=segments), 0)


class LastTileRoundedDown(Merge):
    """Counts whole tiles only, so that the keys of a ragged last tile are not merged."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens // tile_size * tile_size, segments, tile_size)


class LengthOfTheBatch(Merge):
    """Uses the largest length of the batch for every token."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens.amax().expand_as(seq_lens), segments, tile_size)


class LengthOfTheSequence(Merge):
    """Uses the length of the first of every two tokens for both, as if lengths were given per sequence."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        first = torch.arange(len(seq_lens), device=seq_lens.device) // 2 * 2
        return super().active(seq_lens[first], segments, tile_size)


class NoLengthAsOne(Merge):
    """Takes at least one segment of every row, also where no key is visible."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens, segments, tile_size).clamp(min=1)


class NegativeLengthAsHuge(Merge):
    """Reads lengths as unsigned numbers, so that a negative one makes every segment active."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        active = super().active(seq_lens, segments, tile_size)
        return torch.where(seq_lens < 0, segments, active)


class PowerOfTwoSegments(Merge):
    """Adds up no more segments than the largest power of two up to S."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        most = 1 << (segments.bit_length() - 1)
        return super().active(seq_lens, segments, tile_size).clamp(max=most)


class AtMost64Segments(Merge):
    """Adds up one block of 64 segments, and forgets those behind it."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(seq_lens, segments, tile_size).clamp(max=64)


_TAIL = ("oracle", "law tail")
_LENGTHS = ("seq_lens", "producer")

length_ignored = Exhibit(
    name="length_ignored",
    merge=LengthIgnored(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=("poisoned_tail", *_LENGTHS),
)
stale_tile = Exhibit(
    name="stale_tile",
    merge=StaleTile(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=_LENGTHS,
    thread="vllm#53384",
)
stale_length = Exhibit(
    name="stale_length",
    merge=StaleLength(),
    wing=Wing.PARTITION,
    detectors=("oracle",),
    families=_LENGTHS,
    thread="ROCm/vllm#196",
)
one_segment_too_few = Exhibit(
    name="one_segment_too_few",
    merge=OneSegmentTooFew(),
    wing=Wing.PARTITION,
    detectors=("oracle",),
    families=_LENGTHS,
)
one_segment_too_many = Exhibit(
    name="one_segment_too_many",
    merge=OneSegmentTooMany(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=("poisoned_tail", *_LENGTHS),
)
tile_grouping_ignored = Exhibit(
    name="tile_grouping_ignored",
    merge=TileGroupingIgnored(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=_LENGTHS,
    thread="vllm#53384",
)
last_tile_rounded_down = Exhibit(
    name="last_tile_rounded_down",
    merge=LastTileRoundedDown(),
    wing=Wing.PARTITION,
    detectors=("oracle",),
    families=_LENGTHS,
    thread="llama.cpp#13852",
)
length_of_the_batch = Exhibit(
    name="length_of_the_batch",
    merge=LengthOfTheBatch(),
    wing=Wing.PARTITION,
    detectors=("oracle", "law batch", "law neighbours", "law tail"),
    families=_LENGTHS,
)
length_of_the_sequence = Exhibit(
    name="length_of_the_sequence",
    merge=LengthOfTheSequence(),
    wing=Wing.PARTITION,
    detectors=("oracle", "law position", "law batch", "law neighbours", "law tail"),
    families=_LENGTHS,
)
no_length_as_one = Exhibit(
    name="no_length_as_one",
    merge=NoLengthAsOne(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=("poisoned_tail", *_LENGTHS),
)
negative_length_as_huge = Exhibit(
    name="negative_length_as_huge",
    merge=NegativeLengthAsHuge(),
    wing=Wing.PARTITION,
    detectors=_TAIL,
    families=("seq_lens",),
)
power_of_two_segments = Exhibit(
    name="power_of_two_segments",
    merge=PowerOfTwoSegments(),
    wing=Wing.PARTITION,
    detectors=("oracle",),
    families=("odd_shapes",),
    shape={"segments": 24},
)
at_most_64_segments = Exhibit(
    name="at_most_64_segments",
    merge=AtMost64Segments(),
    wing=Wing.PARTITION,
    detectors=("oracle",),
    families=("odd_shapes",),
    shape={"segments": 130},
)
