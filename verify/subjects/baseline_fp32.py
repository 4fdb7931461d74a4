"""The plain float32 merge that speeds are compared with: one program a row, the whole S × R tile, 4 warps.

It is what public merge kernels do, made for speed alone and for ordinary rows: nothing guards it against
empty segments that hold anything, overflow or cancellation. S and R are compiled in, padded to powers of two.
"""

# Triton types its own functions, and its constexpr arguments are written in capitals.
# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

import numpy as np
import torch
import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def _merge_kernel(
    o_ptr,
    m_ptr,
    s_ptr,
    len_ptr,
    output_ptr,
    lse_ptr,
    heads,
    tile_size,
    S: tl.constexpr,
    R: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_t = tl.program_id(0)
    i_row = (i_t * heads + tl.program_id(1)).to(tl.int64)
    i_s = tl.arange(0, BLOCK_S)
    i_r = tl.arange(0, BLOCK_R)
    n_tiles = tl.cdiv(tl.load(len_ptr + i_t), tile_size)
    n_active = tl.cdiv(n_tiles, tl.maximum(tl.cdiv(n_tiles, S), 1))
    m_active = (i_s < n_active) & (i_s < S)
    b_m = tl.load(m_ptr + i_row * S + i_s, mask=m_active, other=float("-inf"))
    b_s = tl.load(s_ptr + i_row * S + i_s, mask=m_active, other=0.0)
    top = tl.max(b_m)
    b_w = tl.where(m_active, tl.exp2(b_m - top), 0.0)
    den = tl.sum(b_s * b_w)
    o_o = o_ptr + i_row * (S * R) + i_s[:, None] * R + i_r[None, :]
    b_o = tl.load(o_o, mask=m_active[:, None] & (i_r < R)[None, :], other=0.0)
    b_y = tl.where(den == 0.0, 0.0, tl.sum(b_o * b_w[:, None], 0) / den)
    tl.store(output_ptr + i_row * R + i_r, b_y.to(output_ptr.dtype.element_ty), mask=i_r < R)
    tl.store(lse_ptr + i_row, (top + tl.log2(den)) * LN2)


def merge_fp32(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    seq_lens: torch.Tensor,
    tile_size: int,
    out_dtype: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge as mla_merge does, in float32 throughout; strided inputs are copied first."""
    o, m, s, lens = (x.contiguous() for x in (segm_output, segm_max, segm_expsum, seq_lens))
    tokens, heads, segments, rank = o.shape
    # On a CPU the interpreter's narrow casts are wrong, so torch makes the last one there.
    made = out_dtype if o.is_cuda else torch.float32
    output = torch.empty((tokens, heads, rank), dtype=made, device=o.device)
    lse = torch.empty((tokens, heads), dtype=torch.float32, device=o.device)
    if tokens * heads:
        with torch.cuda.device_of(o), np.errstate(all="ignore"):
            _merge_kernel[(tokens, heads)](
                o,
                m,
                s,
                lens,
                output,
                lse,
                heads,
                tile_size,
                S=segments,
                R=rank,
                BLOCK_S=triton.next_power_of_2(segments),
                BLOCK_R=triton.next_power_of_2(rank),
                num_warps=4,
            )
    return output.to(out_dtype), lse
