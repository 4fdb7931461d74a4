"""Faults of 32-bit arithmetic: lengths and offsets that do not fit."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.formats import FORMATS
from verify.museum.exhibit import Exhibit, Need, Wing
from verify.museum.honest import Merge


class Offsets32Bit(Merge):
    """Computes the offset of a token in o in 32 bits; beyond 2^31 elements it reads another token."""

    def values(self, segm_output: Tensor, tokens: slice) -> Tensor:
        elements = segm_output[:1].numel()
        offsets = _wrapped32(torch.arange(tokens.start, tokens.stop) * elements)
        # Taken around the end of the tensor, where a kernel would read memory that is not its own.
        return segm_output[(offsets % segm_output.numel() // elements).to(segm_output.device)]


class OutputOffsets32Bit(Merge):
    """Computes the offset of a row in the output in 32 bits; beyond 2^31 elements it writes another row."""

    def write_output(self, output: Tensor) -> Tensor:
        written = torch.empty_like(output)
        rows, rank = output.shape[0] * output.shape[1], output.shape[2]
        offsets = _wrapped32(torch.arange(rows, device=output.device) * rank)
        place = offsets % max(1, output.numel()) // rank
        codes = FORMATS[str(output.dtype).removeprefix("torch.")].int_dtype
        written.view(codes).view(rows, rank)[place] = output.view(codes).view(rows, rank)
        return written


class Ceiling32Bit(Merge):
    """Rounds divisions up by (a + b − 1) // b in 32 bits, which wraps for long sequences."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        def ceil_div(b: int | Tensor) -> Tensor:
            return _wrapped32(seq_lens.to(torch.int64) + b - 1) // b

        tiles_per_segment = ceil_div(segments * tile_size).clamp(min=1)
        return ceil_div(tiles_per_segment * tile_size).clamp(0, segments)


class LengthCutTo32Bits(Merge):
    """Converts 64-bit lengths to 32 bits on reading them."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        return super().active(_wrapped32(seq_lens.to(torch.int64)), segments, tile_size)


class LengthInFloat32(Merge):
    """Counts the tiles of a row by a ceiling in float32, which is wrong beyond 2^24 keys."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        # The quotient is rounded to a whole number of tiles, too many or too few.
        tiles = (seq_lens.to(torch.float32) / tile_size).ceil().double().clamp(0, 2.0**62).to(torch.int64)
        return super().active(tiles, segments, 1)


class GroupTimesTile32Bit(Merge):
    """Multiplies S by the tile in 32 bits, which wraps to nothing for a huge tile."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        group = int(_wrapped32(torch.tensor(segments * tile_size)))
        if group == segments * tile_size:
            return super().active(seq_lens, segments, tile_size)
        # A group of no or of negative size is passed by a guard as one of a single key.
        return super().active(seq_lens, segments, max(1, group // segments))


def _wrapped32(x: Tensor) -> Tensor:
    return (x + 2**31) % 2**32 - 2**31


_CUT = ("oracle", "law tail")

offsets_32_bit = Exhibit(
    name="offsets_32_bit",
    merge=Offsets32Bit(),
    wing=Wing.WIDTH,
    detectors=("oracle", "law position", "law batch"),
    families=("odd_shapes",),
    shape={"tokens": 2050, "heads": 128, "segments": 16, "rank": 512},
    thread="sglang#28788",
    needs=(Need.GPU,),
)
output_offsets_32_bit = Exhibit(
    name="output_offsets_32_bit",
    merge=OutputOffsets32Bit(),
    wing=Wing.WIDTH,
    detectors=("marker", "oracle", "law batch"),
    families=("odd_shapes",),
    shape={"tokens": 32800, "heads": 128, "segments": 1, "rank": 512},
    thread="sglang#28788",
    needs=(Need.GPU,),
)
ceiling_32_bit = Exhibit(
    name="ceiling_32_bit",
    merge=Ceiling32Bit(),
    wing=Wing.WIDTH,
    detectors=_CUT,
    families=("seq_lens",),
)
length_cut_to_32_bits = Exhibit(
    name="length_cut_to_32_bits",
    merge=LengthCutTo32Bits(),
    wing=Wing.WIDTH,
    detectors=_CUT,
    families=("seq_lens",),
)
length_in_float32 = Exhibit(
    name="length_in_float32",
    merge=LengthInFloat32(),
    wing=Wing.WIDTH,
    detectors=_CUT,
    families=("seq_lens",),
    shape={"segments": 128, "tile_size": 1 << 16},
)
group_times_tile_32_bit = Exhibit(
    name="group_times_tile_32_bit",
    merge=GroupTimesTile32Bit(),
    wing=Wing.WIDTH,
    detectors=_CUT,
    families=("seq_lens",),
    shape={"tile_size": 2**31 - 1},
)
