"""The public function and the operator behind it: check, allocate, launch."""

import numpy as np
import torch
import triton

from mla_merge.arguments import check
from mla_merge.kernel import merge_kernel
from mla_merge.plan import VECTOR, plan
from mla_merge.rounding import RULES

# Whether triton was imported under TRITON_INTERPRET=1: it decides once, when the kernel is decorated.
INTERPRETED = not isinstance(merge_kernel, triton.JITFunction)
# Columns that one launch can take: CUDA allows 65,535 blocks of them, the smallest of 32.
MOST_COLUMNS = 65_535 * 32


def merge_mla_segments_triton(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    out_dtype: torch.dtype,
    *,
    output: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge the partials of segmented MLA attention into its output and the log of its mass.

    segm_output [T, H, S, R], segm_max and segm_expsum [T, H, S] are float32, the maxima in base 2;
    seq_lens [T] is int32 or int64; tile_size is the producer's, 1 to 2^31 − 1. Strides are free, and
    no input is written. T or H may be 0. output and lse may be given to be written into: of the shapes
    below, with any strides that keep elements apart and R contiguous, in memory of their own.

    Returns (output [T, H, R] in out_dtype, lse [T, H] float32, natural log), contiguous unless given, on
    the device and in the stream of the inputs, without waiting for the device. Gradients are not tracked:
    inputs are taken as detached. Each value is the exact merge rounded once, within the bounds of
    bounds.toml; a row without mass gives 0 and −inf. Works inside CUDA graphs and under torch.compile.

    Raises TypeError or ValueError, naming the argument, before anything is launched. Formulas and
    error bounds are derived in the README of this package.
    """
    args = check(
        segm_output,
        segm_max,
        segm_expsum,
        seq_lens,
        tile_size,
        out_dtype,
        output,
        lse,
        interpreted=INTERPRETED,
    )
    merge_into(args.o, args.m, args.s, args.seq_lens, args.tile_size, args.output, args.lse)
    return args.output, args.lse


@torch.library.custom_op("mla_merge::merge_into", mutates_args=("output", "lse"))
def merge_into(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    output: torch.Tensor,
    lse: torch.Tensor,
) -> None:
    """Merge into output and lse; the arguments are those of the public function, and checked already."""
    rank = segm_output.shape[3]
    if output.numel() == 0:
        return
    # errstate: numpy, which carries out the interpreter, would warn of overflows that IEEE defines.
    with torch.cuda.device_of(segm_output), np.errstate(all="ignore"):  # type: ignore[no-untyped-call]
        for start in range(0, rank, MOST_COLUMNS):
            columns = slice(start, start + MOST_COLUMNS)
            _launch(
                segm_output[..., columns],
                segm_max,
                segm_expsum,
                seq_lens,
                tile_size,
                output[..., columns],
                lse,
            )


@merge_into.register_fake
def _(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    output: torch.Tensor,
    lse: torch.Tensor,
) -> None:
    return None


def _launch(
    o: torch.Tensor,
    m: torch.Tensor,
    s: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    output: torch.Tensor,
    lse: torch.Tensor,
) -> None:
    tokens, heads, segments, rank = o.shape
    rows = tokens * heads
    rule = RULES[output.dtype]
    o_strides, output_strides = _strides(o), _strides(output)
    aligned = (
        o_strides[3] == 1
        and not any(n % VECTOR for n in (rank, *o_strides[:3], *output_strides[:2]))
        and o.data_ptr() % (VECTOR * o.element_size()) == 0
    )
    chosen = plan(rows, segments, rank, aligned=aligned, interpreted=INTERPRETED)
    regime, unit = chosen.regime, chosen.unit
    merge_kernel[chosen.grid](
        o,
        m,
        s,
        seq_lens,
        output.view(rule.storage),
        lse.view(torch.int32),
        rows,
        heads,
        segments,
        rank,
        tile_size,
        *(stride // unit for stride in o_strides[:3]),
        o_strides[3],
        *m.stride(),
        *s.stride(),
        *seq_lens.stride(),
        *(stride // unit for stride in output_strides[:2]),
        *lse.stride(),
        rule.precision,
        rule.emin,
        rule.max_code,
        rule.overflow_code,
        rule.nan_code,
        rule.sign_code,
        int(rule.signed_zero),
        BFLOAT16=output.dtype == torch.bfloat16,
        UNIT=unit,
        ROWS=chosen.rows,
        BLOCK_R=regime.block_r,
        VECTOR=chosen.vector,
        BLOCK_S=chosen.block_s,
        STEP=regime.step,
        WHOLE=regime.whole,
        EAGER=regime.eager,
        PREFETCH=regime.prefetch,
        EVICT=regime.evict,
        SPREAD=chosen.spread,
        num_warps=1,
        enable_fp_fusion=False,  # the default differs between versions of Triton
    )


def _strides(tensor: torch.Tensor) -> list[int]:
    """Give the strides, 0 along an axis of one element, where torch may keep anything."""
    return [stride if size > 1 else 0 for stride, size in zip(tensor.stride(), tensor.shape, strict=True)]
