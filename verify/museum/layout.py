"""Faults of layout: which element is read, and where a result is put."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class StridesIgnored(Merge):
    """Reads every input as if it were contiguous."""

    def __call__(self, o: Tensor, m: Tensor, s: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        o, m, s = (_read(x, _dense(x), int(x.storage_offset())) for x in (o, m, s))
        return super().__call__(o, m, s, *rest)


class InnerStrideIgnored(Merge):
    """Honours every stride but the last, which it takes for 1."""

    def __call__(self, o: Tensor, m: Tensor, s: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        o, m, s = (_read(x, (*x.stride()[:-1], 1), int(x.storage_offset())) for x in (o, m, s))
        return super().__call__(o, m, s, *rest)


class OffsetIgnored(Merge):
    """Starts at the beginning of an input's memory, wherever in it the tensor begins."""

    def __call__(self, o: Tensor, m: Tensor, s: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        o, m, s = (_read(x, x.stride(), 0) for x in (o, m, s))
        return super().__call__(o, m, s, *rest)


class MassStridesIgnored(Merge):
    """Honours the strides of values and maxima, and reads the masses as if they were contiguous."""

    def __call__(self, o: Tensor, m: Tensor, s: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        return super().__call__(o, m, _read(s, _dense(s), int(s.storage_offset())), *rest)


class HeadMajorStatistics(Merge):
    """Reads the maxima as if they were laid out by head first."""

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        tokens, heads, segments = m.shape
        return super().statistics(m.reshape(heads, tokens, segments).transpose(0, 1), s)


class SegmentsAndColumnsSwapped(Merge):
    """Reads the values of a row as if they were laid out by column first."""

    def values(self, segm_output: Tensor, tokens: slice) -> Tensor:
        o = super().values(segm_output, tokens)
        return o.reshape(*o.shape[:2], o.shape[3], o.shape[2]).transpose(2, 3)


class HeadMajorLse(Merge):
    """Writes the lse by head first into memory that is read by token first."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        return super().write_lse(lse.T.reshape(lse.shape), active)


class Shuffled(Merge):
    """Returns every row's columns one place further."""

    def write_output(self, output: Tensor) -> Tensor:
        return super().write_output(output.roll(1, -1))


class HeadsSwapped(Merge):
    """Returns the output of the neighbouring head, the lse in its place."""

    def write_output(self, output: Tensor) -> Tensor:
        return super().write_output(output.roll(1, 1))


class RowStepOfUnpadded(Merge):
    """Allocates rows padded to R + 8 and writes them R apart."""

    def write_output(self, output: Tensor) -> Tensor:
        tokens, heads, rank = output.shape
        padded = torch.empty(tokens, heads, rank + 8, dtype=output.dtype, device=output.device)
        padded.view(-1)[: output.numel()] = output.reshape(-1)
        return padded[..., :rank]


def _dense(x: Tensor) -> tuple[int, ...]:
    strides = [1]
    for extent in reversed(x.shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


def _read(x: Tensor, strides: tuple[int, ...], offset: int) -> Tensor:
    """Read x by other strides, around the end of its memory where a kernel would read beyond it."""
    elements = x.untyped_storage().nbytes() // x.element_size()
    place = torch.full(x.shape, offset, device=x.device)
    for axis, stride in enumerate(strides):
        ramp = torch.arange(x.shape[axis], device=x.device) * stride
        place = place + ramp.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return x.as_strided((elements,), (1,), 0)[place % elements]


_STRIDES = ("oracle", "law strides", "law position", "law batch", "law neighbours", "law tail")
_PLACES = ("oracle", "law position", "law batch", "law neighbours", "law tail", "law hull")

strides_ignored = Exhibit(
    name="strides_ignored",
    merge=StridesIgnored(),
    wing=Wing.LAYOUT,
    detectors=_STRIDES,
    families=("layouts",),
    thread="aiter#3698",
)
inner_stride_ignored = Exhibit(
    name="inner_stride_ignored",
    merge=InnerStrideIgnored(),
    wing=Wing.LAYOUT,
    detectors=_STRIDES,
    families=("layouts",),
    thread="flash-attention#2573",
)
offset_ignored = Exhibit(
    name="offset_ignored",
    merge=OffsetIgnored(),
    wing=Wing.LAYOUT,
    detectors=("law strides", *(detector for detector in _STRIDES if detector != "law strides")),
    families=("layouts",),
)
mass_strides_ignored = Exhibit(
    name="mass_strides_ignored",
    merge=MassStridesIgnored(),
    wing=Wing.LAYOUT,
    detectors=_STRIDES,
    families=("layouts",),
)
head_major_statistics = Exhibit(
    name="head_major_statistics",
    merge=HeadMajorStatistics(),
    wing=Wing.LAYOUT,
    detectors=_PLACES,
    families=("odd_shapes",),
    shape={"tokens": 3, "heads": 4, "rank": 8, "segments": 5},
)
segments_and_columns_swapped = Exhibit(
    name="segments_and_columns_swapped",
    merge=SegmentsAndColumnsSwapped(),
    wing=Wing.LAYOUT,
    detectors=("oracle", "law constant", "law hull", "law tail", "law empties"),
    families=("odd_shapes",),
    shape={"tokens": 2, "heads": 3, "rank": 8, "segments": 5},
)
head_major_lse = Exhibit(
    name="head_major_lse",
    merge=HeadMajorLse(),
    wing=Wing.LAYOUT,
    detectors=_PLACES,
    families=("odd_shapes",),
    shape={"tokens": 3, "heads": 4, "rank": 8, "segments": 5},
)
shuffled = Exhibit(
    name="shuffled",
    merge=Shuffled(),
    wing=Wing.LAYOUT,
    detectors=("oracle", "law constant", "law hull", "law single"),
    families=("odd_shapes", "producer"),
)
heads_swapped = Exhibit(
    name="heads_swapped",
    merge=HeadsSwapped(),
    wing=Wing.LAYOUT,
    detectors=(*_PLACES, "law constant"),
    families=("odd_shapes", "producer"),
    shape={"heads": 3, "rank": 8},
)
row_step_of_unpadded = Exhibit(
    name="row_step_of_unpadded",
    merge=RowStepOfUnpadded(),
    wing=Wing.LAYOUT,
    detectors=("marker", "oracle"),
    families=("odd_shapes", "producer"),
    shape={"heads": 3, "rank": 8},
    thread="FlagGems#5235",
)
