"""The merge kernel. The mathematics and the error analysis stand in this package's README."""

# Triton types its own functions.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from typing import Any

import triton
import triton.language as tl

from mla_merge.rounding import round_to_code

# No constant here may be NaN: Triton compares globals at every launch, and a NaN never equals itself.
NEG_INF = tl.constexpr(float("-inf"))
LN2 = tl.constexpr(0.6931471805599453)
# About √2, in few bits: Triton 3.6 rounds the constants of a comparison to float32.
SPLIT = tl.constexpr(1.4140625)
# Weights are floored at 2^-1000: too small to be seen in any result, yet above 0, so that an infinite
# partial keeps its infinity whatever its weight.
MIN_LOG2_WEIGHT = tl.constexpr(-1000.0)


if isinstance(round_to_code, triton.JITFunction):

    @triton.jit
    def loop_bound(n):
        """Give n as it is: a compiled loop takes a runtime bound."""
        return n

else:

    def loop_bound(n: Any) -> int:
        """Give n as a Python int: Triton 3.6's interpreter fails to under numpy 2.4 and later."""
        return int(n.handle.data.item())


@triton.jit
def round_to_float32(x):
    """Round float64 to the code of the nearest float32."""
    return round_to_code(x, 24, -126, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000, True)


@triton.jit
def log_mass(b_den, b_top):
    """Compute ln(den · 2^top) in float64, den > 0 and normal, top finite.

    The exponent of den joins the integer part of top before any rounding: masses near 1 would
    otherwise cancel after the logarithm.
    """
    b_bits = b_den.to(tl.int64, bitcast=True)
    b_exponent = (b_bits >> 52) - 1023
    b_fraction = ((b_bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).to(tl.float64, bitcast=True)
    m_upper = b_fraction > SPLIT
    b_fraction = tl.where(m_upper, b_fraction * 0.5, b_fraction)
    b_exponent = tl.where(m_upper, b_exponent + 1, b_exponent)
    b_whole = tl.floor(b_top + 0.5)
    b_power = b_whole + b_exponent.to(tl.float64)
    return b_power * LN2 + ((b_top - b_whole) * LN2 + tl.log(b_fraction))


@triton.jit(do_not_specialize=["rows", "H", "tile_size"])
def merge_kernel(
    o_ptr,
    m_ptr,
    s_ptr,
    len_ptr,
    output_ptr,
    lse_ptr,
    rows,
    H,
    S,
    R,
    tile_size,
    o_stride_t,
    o_stride_h,
    o_stride_s,
    o_stride_r,
    m_stride_t,
    m_stride_h,
    m_stride_s,
    s_stride_t,
    s_stride_h,
    s_stride_s,
    len_stride_t,
    PRECISION: tl.constexpr,
    EMIN: tl.constexpr,
    MAX_CODE: tl.constexpr,
    OVERFLOW_CODE: tl.constexpr,
    NAN_CODE: tl.constexpr,
    SIGN_CODE: tl.constexpr,
    SIGNED_ZERO: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """Merge BLOCK_ROWS rows over BLOCK_R columns; a row is one token and head.

    output_ptr and lse_ptr are integer views of contiguous [T, H, R] and [T, H] tensors. BLOCK_S is how
    many segments' statistics are looked at together for the maximum. No block size changes a bit.
    """
    r_blocks = (R - 1) // BLOCK_R + 1
    i_block = tl.program_id(0)
    i_row = (i_block // r_blocks).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    i_col = (i_block % r_blocks).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    m_row = i_row < rows
    m_col = i_col < R
    i_t = i_row // H
    i_h = i_row % H

    # The partition, in the integer type of seq_lens and on non-negative numbers only: L − 1 is taken of
    # L ≥ 1, and no product occurs. b_tile is the index of the row's last tile.
    b_len = tl.load(len_ptr + i_t * len_stride_t, mask=m_row, other=0)
    b_tile = (tl.maximum(b_len, 1) - 1) // tile_size
    b_active = tl.where(b_len > 0, b_tile // (b_tile // S + 1) + 1, 0)
    n_active = tl.max(b_active, 0)

    # First pass: the largest maximum among live segments. An inactive segment is never loaded and reads
    # as empty (m = −inf). A live NaN in m or s, m = +inf, s < 0 or s = +inf spoils the whole row.
    o_m = m_ptr + (i_t * m_stride_t + i_h * m_stride_h)
    o_s = s_ptr + (i_t * s_stride_t + i_h * s_stride_h)
    b_top = tl.full([BLOCK_ROWS], NEG_INF, tl.float64)
    b_spoilt = tl.full([BLOCK_ROWS], 0, tl.int32)
    for i_start in range(0, loop_bound(n_active), BLOCK_S):
        i_seg = (i_start + tl.arange(0, BLOCK_S)).to(tl.int64)
        m_active = i_seg[None, :] < b_active[:, None]
        b_m = tl.load(o_m[:, None] + (i_seg * m_stride_s)[None, :], mask=m_active, other=NEG_INF).to(
            tl.float64
        )
        b_s = tl.load(o_s[:, None] + (i_seg * s_stride_s)[None, :], mask=m_active, other=0.0).to(tl.float64)
        m_live = (b_m != NEG_INF) & ((b_s != 0.0) | (b_m != b_m))  # noqa: PLR0124
        m_sound = (b_m < -NEG_INF) & (b_s > 0.0) & (b_s < -NEG_INF)
        b_top = tl.maximum(b_top, tl.max(tl.where(m_live & m_sound, b_m, NEG_INF), 1))
        b_spoilt = tl.maximum(b_spoilt, tl.max(tl.where(m_live & ~m_sound, 1, 0), 1))
    m_spoilt = b_spoilt != 0
    m_empty = b_top == NEG_INF
    b_top = tl.where(m_empty, 0.0, b_top)

    # Second pass: both sums in float64, one segment after the other in the order of their index.
    o_o = o_ptr + (i_t * o_stride_t + i_h * o_stride_h)[:, None] + (i_col * o_stride_r)[None, :]
    b_den = tl.full([BLOCK_ROWS], 0.0, tl.float64)
    b_num = tl.full([BLOCK_ROWS, BLOCK_R], 0.0, tl.float64)
    for i_seg in range(loop_bound(n_active)):
        m_active = b_active > i_seg
        b_m = tl.load(o_m, mask=m_active, other=NEG_INF).to(tl.float64)
        b_s = tl.load(o_s, mask=m_active, other=0.0).to(tl.float64)
        m_live = (b_m != NEG_INF) & ((b_s != 0.0) | (b_m != b_m))  # noqa: PLR0124
        b_o = tl.load(o_o, mask=m_live[:, None] & m_col[None, :], other=0.0).to(tl.float64)
        b_w = tl.where(m_live, tl.exp2(tl.maximum(b_m - b_top, MIN_LOG2_WEIGHT)), 0.0)
        b_den += tl.where(m_live, b_s * b_w, 0.0)  # a dead segment's s may be NaN
        b_num += b_o * b_w[:, None]
        o_m += m_stride_s
        o_s += s_stride_s
        o_o += o_stride_s

    if i_block % r_blocks == 0:
        b_lse = tl.where(m_empty, NEG_INF, log_mass(b_den, b_top))
        b_lse = tl.where(m_spoilt, float("nan"), b_lse)
        tl.store(lse_ptr + i_row, round_to_float32(b_lse), mask=m_row)

    b_den = tl.where(m_empty, 1.0, b_den)
    b_den = tl.where(m_spoilt, float("nan"), b_den)
    b_y = b_num / b_den[:, None]
    b_code = round_to_code(b_y, PRECISION, EMIN, MAX_CODE, OVERFLOW_CODE, NAN_CODE, SIGN_CODE, SIGNED_ZERO)
    tl.store(output_ptr + i_row[:, None] * R + i_col[None, :], b_code, mask=m_row[:, None] & m_col[None, :])
