"""Faults in Triton: the one kernel of triton_kernel.py, and for each exhibit the one line that is wrong."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton

from fuzz.formats import FORMATS
from verify.museum.exhibit import Exhibit, Need, Sound, Wing
from verify.museum.honest import Merge
from verify.museum.triton_kernel import add_segment, merge_row


@dataclass(frozen=True, kw_only=True)
class TritonMerge:
    """Launches the kernel with one of its faults."""

    fault: str
    """Name of the fault in the kernel; empty for none."""
    sentence: str
    """What is wrong."""

    def __call__(
        self,
        segm_output: torch.Tensor,
        segm_max: torch.Tensor,
        segm_expsum: torch.Tensor,
        seq_lens: torch.Tensor,
        tile_size: int,
        out_dtype: torch.dtype,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output [T, H, R] in out_dtype and lse [T, H] float32; strided inputs are copied first."""
        o, m, s, lens = (x.contiguous() for x in (segm_output, segm_max, segm_expsum, seq_lens))
        tokens, heads, segments, rank = o.shape
        # A narrow cast of the interpreter is wrong, so torch makes it: what is judged here is the rest.
        made = torch.float32 if out_dtype == torch.float32 else torch.float64
        y = torch.empty((tokens, heads, rank), dtype=made, device=o.device)
        lse = torch.empty((tokens, heads), dtype=torch.float32, device=o.device)
        if tokens * heads:
            with torch.cuda.device_of(o), np.errstate(all="ignore"):
                merge_row[(tokens, heads)](
                    *(o, m, s, lens, y, lse, tokens, heads, tile_size, segments, rank),
                    FAULT=self.fault,
                    BLOCK_S=triton.next_power_of_2(segments),
                    BLOCK_R=triton.next_power_of_2(rank),
                )
        if made == out_dtype:
            return y, lse
        fmt = FORMATS[str(out_dtype).removeprefix("torch.")]
        return Merge().rounded(y, fmt).to(out_dtype), lse


class AtomicSums(Merge):
    """Adds every segment in a program of its own by atomic additions, in the order in which they happen."""

    def sums(
        self, weight: torch.Tensor, o: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the weighted values in float32 by Triton, the masses as the honest merge does."""
        _, den = super().sums(weight, o[..., :0], s)
        tokens, heads, segments, rank = o.shape
        num = torch.zeros((tokens, heads, rank), device=o.device)
        o, weight = o.contiguous(), weight.float().contiguous()
        with torch.cuda.device_of(o), np.errstate(all="ignore"):
            add_segment[(tokens * heads, segments)](
                *(o, weight, num, segments, rank), BLOCK_R=triton.next_power_of_2(rank)
            )
        return num.double(), den


def _exhibit(
    name: str,
    fault: str,
    sentence: str,
    wing: Wing,
    *detectors: str,
    families: tuple[str, ...] = ("odd_shapes", "producer"),
    **more: Any,
) -> Exhibit:
    return Exhibit(
        name=name,
        merge=TritonMerge(fault=fault, sentence=sentence),
        wing=wing,
        detectors=detectors,
        families=families,
        **{"needs": (Need.TRITON,), **more},
    )


triton_rows = Sound(
    name="triton_rows",
    merge=TritonMerge(fault="", sentence="Merges one row a program in Triton, in float64 and all at once."),
    needs=(Need.TRITON,),
    outputs=2048,
)

triton_ceiling_32_bit = _exhibit(
    "triton_ceiling_32_bit",
    "ceiling in 32 bits",
    "Rounds the partition's divisions up in the 32 bits of a length.",
    Wing.WIDTH,
    *("oracle", "isolation", "law tail"),
    families=("seq_lens",),
)
triton_maximum_of_the_padding = _exhibit(
    "triton_maximum_of_the_padding",
    "maximum of the padding",
    "Takes the maximum over a padded block whose padding is 0, with weights in float32.",
    Wing.EMPTIES,
    *("oracle", "law shift"),
    families=("huge_ranges", "bit_patterns"),
    thread="vllm#38416",
)
triton_natural_exponential = _exhibit(
    "triton_natural_exponential",
    "natural exponential",
    "Calls exp where the maxima ask for exp2.",
    Wing.SCALE,
    "oracle",
    thread="sglang#35045",
)
triton_unwritten_times_zero = _exhibit(
    "triton_unwritten_times_zero",
    "unwritten times zero",
    "Loads the values of segments that were never written and weighs them by 0.",
    Wing.EMPTIES,
    *("oracle", "law tail", "law empties"),
    families=("poisoned_tail", "empties"),
    thread="aiter#4711",
)
triton_float32_sums = _exhibit(
    "triton_float32_sums",
    "float32 sums",
    "Adds numerator and denominator in float32.",
    Wing.PRECISION,
    *("oracle", "law constant", "law hull"),
    families=("cancellation", "overflow"),
)
triton_first_64_segments = _exhibit(
    "triton_first_64_segments",
    "first 64 segments",
    "Adds the first block of 64 segments only.",
    Wing.PARTITION,
    "oracle",
    families=("odd_shapes",),
    shape={"tokens": 1, "heads": 2, "segments": 130, "rank": 8},
)
triton_float32_reciprocal = _exhibit(
    "triton_float32_reciprocal",
    "float32 reciprocal",
    "Multiplies by a reciprocal of the mass in float32.",
    Wing.PRECISION,
    *("oracle", "law constant", "law hull", "law single"),
    dtypes=("float32",),
)
triton_store_without_mask = _exhibit(
    "triton_store_without_mask",
    "no mask on the store",
    "Stores the whole padded block of columns, over the next row and beyond the last.",
    Wing.WRITES,
    *("guard band", "oracle"),
    families=("odd_shapes",),
    shape={"rank": 33},
    thread="FlagGems#5235",
)
triton_last_block_of_columns = _exhibit(
    "triton_last_block_of_columns",
    "last block of columns",
    "Rounds the number of blocks of columns down, and leaves the last ones unwritten.",
    Wing.WRITES,
    *("marker", "oracle"),
    families=("odd_shapes",),
    shape={"rank": 33},
)
triton_early_return = _exhibit(
    "triton_early_return",
    "early return",
    "Writes no output for a row without keys.",
    Wing.WRITES,
    *("marker", "oracle"),
    families=("seq_lens",),
    thread="aiter#4350",
)
triton_lse_by_head = _exhibit(
    "triton_lse_by_head",
    "lse by head",
    "Stores the lse by head first.",
    Wing.LAYOUT,
    *("oracle", "law position", "law batch", "law neighbours", "law tail", "law hull"),
    families=("odd_shapes",),
    shape={"tokens": 2, "heads": 3, "rank": 8},
)
triton_lse_of_one_segment = _exhibit(
    "triton_lse_of_one_segment",
    "lse of one segment",
    "Stores no lse for a row with one active segment.",
    Wing.WRITES,
    "marker",
    families=("seq_lens", "odd_shapes"),
    thread="aiter#1420",
)
triton_scratch_in_the_maxima = _exhibit(
    "triton_scratch_in_the_maxima",
    "scratch in the maxima",
    "Keeps the weights where the maxima were.",
    Wing.SIDE_EFFECTS,
    "input copy",
)
triton_offsets_32_bit = _exhibit(
    "triton_offsets_32_bit",
    "offsets in 32 bits",
    "Multiplies program ids by strides in 32 bits, and reads before the tensor beyond 2^31 elements.",
    Wing.WIDTH,
    *("isolation", "oracle", "law position", "law batch"),
    families=("odd_shapes",),
    shape={"tokens": 2050, "heads": 128, "segments": 16, "rank": 512},
    thread="sglang#28788",
    needs=(Need.TRITON, Need.GPU),
    ends_process=True,
)
triton_atomic_sums = Exhibit(
    name="triton_atomic_sums",
    merge=AtomicSums(),
    wing=Wing.DEPENDENCE,
    # On a GPU the order is another one at each call; the interpreter's programs take turns.
    detectors=("oracle", "law repeat", "law batch", "law neighbours", "law position", "law tail"),
    families=("cancellation", "overflow"),
    needs=(Need.TRITON,),
)
