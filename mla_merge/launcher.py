"""The public function: check, allocate, launch."""

import numpy as np
import torch
import triton

from mla_merge.arguments import check
from mla_merge.kernel import merge_kernel
from mla_merge.plan import plan
from mla_merge.rounding import RULES

# Whether triton was imported under TRITON_INTERPRET=1: it decides once, when the kernel is decorated.
INTERPRETED = not isinstance(merge_kernel, triton.JITFunction)


def merge_mla_segments_triton(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    out_dtype: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge the partials of segmented MLA attention into its output and the log of its mass.

    segm_output [T, H, S, R], segm_max and segm_expsum [T, H, S] are float32, the maxima in base 2;
    seq_lens [T] is int32 or int64; tile_size is the producer's, 1 to 2^31 − 1. Strides are free, and
    no input is written. T or H may be 0.

    Returns (output [T, H, R] in out_dtype, lse [T, H] float32, natural log), both contiguous, on the
    device and in the stream of the inputs, without waiting for the device. Gradients are not tracked:
    inputs are taken as detached. Each value is the exact merge rounded once, within the bounds of
    bounds.toml; a row without mass gives 0 and −inf.

    Raises TypeError or ValueError, naming the argument, before anything is launched. Formulas and
    error bounds are derived in the README of this package.
    """
    args = check(segm_output, segm_max, segm_expsum, seq_lens, tile_size, out_dtype, interpreted=INTERPRETED)
    tokens, heads, segments, rank = args.o.shape
    rule = RULES[args.out_dtype]
    output = torch.empty((tokens, heads, rank), dtype=args.out_dtype, device=args.o.device)
    lse = torch.empty((tokens, heads), dtype=torch.float32, device=args.o.device)
    rows = tokens * heads
    if rows == 0:
        return output, lse
    chosen = plan(rows, segments, rank, interpreted=INTERPRETED)
    # errstate: numpy, which carries out the interpreter, would warn of overflows that IEEE defines.
    with torch.cuda.device_of(args.o), np.errstate(all="ignore"):  # type: ignore[no-untyped-call]
        merge_kernel[(chosen.programs,)](
            args.o,
            args.m,
            args.s,
            args.seq_lens,
            output.view(rule.storage),
            lse.view(torch.int32),
            rows,
            heads,
            segments,
            rank,
            args.tile_size,
            *args.o.stride(),
            *args.m.stride(),
            *args.s.stride(),
            *args.seq_lens.stride(),
            PRECISION=rule.precision,
            EMIN=rule.emin,
            MAX_CODE=rule.max_code,
            OVERFLOW_CODE=rule.overflow_code,
            NAN_CODE=rule.nan_code,
            SIGN_CODE=rule.sign_code,
            SIGNED_ZERO=rule.signed_zero,
            BLOCK_ROWS=chosen.block_rows,
            BLOCK_R=chosen.block_r,
            BLOCK_S=chosen.block_s,
            num_warps=chosen.num_warps,
            enable_fp_fusion=False,  # the default differs between versions of Triton
        )
    return output, lse
