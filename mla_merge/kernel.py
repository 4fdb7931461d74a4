"""The merge kernel. The mathematics and the error analysis stand in this package's README."""

# Triton types its own functions, and compiles only some of Python.
# ruff: noqa: RUF005, SIM102, SIM108, PLR0912
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, no-redef, assignment, misc"

from typing import Any

import triton
import triton.language as tl

from mla_merge.arithmetic import log_mass, power_of_two
from mla_merge.rounding import round_to_bfloat16, round_to_float32, round_to_narrow
from mla_merge.segments import (
    EMPTY,
    NEG_INF,
    SPOILT,
    add_segment,
    load_partials,
    row_max,
    survey,
    weigh,
)

if isinstance(power_of_two, triton.JITFunction):

    @triton.jit
    def loop_bound(n):
        """Give n as it is: a compiled loop takes a runtime bound."""
        return n

else:

    def loop_bound(n: Any) -> int:
        """Give n as a Python int: Triton 3.6's interpreter fails to under numpy 2.4 and later."""
        return int(n.handle.data.item())


@triton.jit(
    # One compilation serves every shape, layout and narrow dtype: nothing about an integer is compiled in.
    do_not_specialize=[
        *("rows", "H", "S", "R", "tile_size"),
        *("o_stride_t", "o_stride_h", "o_stride_s", "o_stride_r"),
        *("m_stride_t", "m_stride_h", "m_stride_s", "s_stride_t", "s_stride_h", "s_stride_s"),
        *("len_stride_t", "output_stride_t", "output_stride_h", "lse_stride_t", "lse_stride_h"),
        *("precision", "emin", "max_code", "overflow_code", "nan_code", "sign_code", "signed_zero"),
    ],
    do_not_specialize_on_alignment=["m_ptr", "s_ptr", "len_ptr", "lse_ptr"],
)
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
    output_stride_t,
    output_stride_h,
    lse_stride_t,
    lse_stride_h,
    precision,
    emin,
    max_code,
    overflow_code,
    nan_code,
    sign_code,
    signed_zero,
    BFLOAT16: tl.constexpr,
    UNIT: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    VECTOR: tl.constexpr,
    BLOCK_S: tl.constexpr,
    STEP: tl.constexpr,
    WHOLE: tl.constexpr,
    EAGER: tl.constexpr,
    PREFETCH: tl.constexpr,
    EVICT: tl.constexpr,
    SPREAD: tl.constexpr,
):
    """Merge ROWS rows (one token and head each) over BLOCK_R columns; no constexpr changes a bit.

    output_ptr and lse_ptr are integer views. UNIT above 1: R is contiguous in o and output, and it and
    their other strides are counted in that many elements, so that the compiler sees what they are
    multiples of. A block of partials is [lines, VECTOR columns] where SPREAD, [ROWS, BLOCK_R] otherwise;
    weights and masses are [32], or [ROWS, 32]. On a GPU, which spreads, a program is one warp.
    BLOCK_S: segments surveyed together, a multiple of 32; 32 says that S ≤ 32. STEP, a power of two up to 64:
    segments whose loads are started together. WHOLE (S ≤ STEP, EAGER): all at once, without a loop. EAGER
    (S ≤ BLOCK_S): first loads do not wait for the number of active segments. PREFETCH: the next loads are
    started with the last additions.
    """
    i_row = tl.program_id(0)
    if ROWS > 1:
        i_row = i_row.to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    # On a GPU a lane holds every 32nd line: with two dimensions a compiler has no other choice.
    LINES: tl.constexpr = BLOCK_R // VECTOR if SPREAD else ROWS
    i_col = tl.program_id(1) * BLOCK_R + tl.arange(0, VECTOR)[None, :]
    if SPREAD:
        i_col += tl.arange(0, LINES)[:, None] * VECTOR
        i_seg = tl.arange(0, 32).to(tl.int64)
        i_wide = tl.zeros([LINES], tl.int32)
        i_lane = tl.zeros([32], tl.int32)
        b_order = i_lane + EMPTY
    else:
        i_seg = tl.arange(0, 32)[None, :].to(tl.int64)
        i_wide = tl.zeros([ROWS, 1], tl.int32)
        i_lane = i_wide
        b_order = tl.zeros([ROWS, 32], tl.int32) + EMPTY
    m_row = i_row < rows
    i_t = i_row // H
    i_h = (i_row - i_t * H).to(tl.int64)
    i_t = i_t.to(tl.int64)

    width = R // UNIT * UNIT
    o_step = o_stride_s.to(tl.int64) * UNIT
    o_o = o_ptr + (i_t * o_stride_t + i_h * o_stride_h) * UNIT
    if UNIT > 1:
        o_o += i_col
    else:
        o_o += i_col.to(tl.int64) * o_stride_r
    o_m = m_ptr + (i_t * m_stride_t + i_h * m_stride_h)
    o_s = s_ptr + (i_t * s_stride_t + i_h * s_stride_h)

    # Loads that wait for nothing. Statistics come 32 to a tensor, which fits a warp; where they are few,
    # reading them all costs less than to wait until it is known how many are active.
    KEPT: tl.constexpr = EAGER or BLOCK_S == 32
    b_all = tl.where(m_row, S, 0)
    if EAGER:
        partials = load_partials(o_o, o_step, b_all, i_col, width, STEP, EVICT)
    if KEPT:
        b_ms = ()
        b_ss = ()
        for k in tl.static_range(0, BLOCK_S, 32):
            m_own = i_seg + k < b_all
            b_ms = b_ms + (tl.load(o_m + (i_seg + k) * m_stride_s, mask=m_own, other=NEG_INF),)
            b_ss = b_ss + (tl.load(o_s + (i_seg + k) * s_stride_s, mask=m_own, other=0.0),)
    b_len = tl.load(len_ptr + i_t * len_stride_t, mask=m_row, other=0)

    # The partition, in the integer type of seq_lens and on non-negative numbers only: L − 1 is taken of
    # L ≥ 1, and no product occurs. b_tile is the index of the row's last tile.
    b_tile = (tl.maximum(b_len, 1) - 1) // tile_size
    b_active = tl.where(b_len > 0, b_tile // (b_tile // S + 1) + 1, 0)
    if ROWS == 1:
        n_active = b_active
    else:
        n_active = tl.max(b_active)
    if PREFETCH and not EAGER:
        partials = load_partials(o_o, o_step, b_active, i_col, width, STEP, EVICT)

    # First pass: the largest maximum among live segments. An inactive segment counts as empty. A live NaN
    # in m or s, m = +inf, s < 0 or s = +inf spoils the whole row.
    if KEPT:
        for k in tl.static_range(0, BLOCK_S, 32):
            b_order = tl.maximum(b_order, survey(b_ms[k // 32], b_ss[k // 32], i_seg + k < b_active))
    else:
        for i_start in range(0, loop_bound(n_active), BLOCK_S):
            for k in tl.static_range(0, BLOCK_S, 32):
                i_own = i_seg + (i_start + k)
                m_active = i_own < b_active
                b_m = tl.load(o_m + i_own * m_stride_s, mask=m_active, other=NEG_INF)
                b_s = tl.load(o_s + i_own * s_stride_s, mask=m_active, other=0.0)
                b_order = tl.maximum(b_order, survey(b_m, b_s, m_active))
    b_last = row_max(b_order, ROWS)
    m_spoilt = b_last == SPOILT
    m_empty = b_last == EMPTY
    b_bits = tl.where(m_spoilt | m_empty, 0, b_last ^ ((b_last >> 31) & 0x7FFFFFFF))
    b_top = b_bits.to(tl.float32, bitcast=True).to(tl.float64)

    # Second pass: both sums in float64, one segment after the other in the order of their index. The
    # weights of 32 segments are computed side by side, then handed out one by one.
    b_den = i_lane.to(tl.float64)
    b_num = tl.zeros([LINES, VECTOR], tl.float64)
    b_w = b_order.to(tl.float64)
    b_mass = b_w
    if WHOLE:
        for j in tl.static_range(STEP):
            if j % 32 == 0:
                b_w, b_mass = weigh(b_ms[j // 32], b_ss[j // 32], i_seg + j < b_active, b_top)
            b_num, b_den = add_segment(b_num, b_den, partials[j], b_w, b_mass, j % 32, i_wide, i_lane, SPREAD)
    else:
        if BLOCK_S == 32:
            b_w, b_mass = weigh(b_ms[0], b_ss[0], i_seg < b_active, b_top)
        b_left = b_active
        for i_start in range(0, loop_bound(n_active), STEP):
            if not PREFETCH:
                partials = load_partials(o_o, o_step, b_left, i_col, width, STEP, EVICT)
            i_slot = i_start % 32
            if BLOCK_S > 32:
                if i_start % 32 == 0:
                    i_own = i_seg + i_start
                    m_active = i_own < b_active
                    b_m = tl.load(o_m + i_own * m_stride_s, mask=m_active, other=NEG_INF)
                    b_s = tl.load(o_s + i_own * s_stride_s, mask=m_active, other=0.0)
                    b_w, b_mass = weigh(b_m, b_s, m_active, b_top)
            for j in tl.static_range(STEP):
                b_num, b_den = add_segment(
                    b_num, b_den, partials[j], b_w, b_mass, i_slot + j, i_wide, i_lane, SPREAD
                )
            o_o += o_step * STEP
            b_left -= STEP
            if PREFETCH:
                partials = load_partials(o_o, o_step, b_left, i_col, width, STEP, EVICT)
    b_den = tl.where(m_spoilt | m_empty, 1.0, b_den)

    b_scale = tl.where(m_spoilt, float("nan"), 1.0 / b_den)
    if SPREAD:
        b_scale = tl.gather(b_scale, i_wide, 0)[:, None]
    b_y = b_num * b_scale
    if output_ptr.dtype.element_ty == tl.int32:
        b_code = round_to_float32(b_y)
    elif BFLOAT16:
        b_code = round_to_bfloat16(b_y)
    else:
        b_code = round_to_narrow(
            b_y, precision, emin, max_code, overflow_code, nan_code, sign_code, signed_zero
        )
    o_output = output_ptr + (i_t * output_stride_t + i_h * output_stride_h) * UNIT + i_col
    tl.store(o_output, b_code, mask=i_col < tl.where(m_row, width, 0))

    if tl.program_id(1) == 0:
        b_lse = tl.where(m_empty, NEG_INF, log_mass(b_den, b_top))
        b_lse_code = round_to_float32(tl.where(m_spoilt, float("nan"), b_lse))
        o_lse = lse_ptr + (i_t * lse_stride_t + i_h * lse_stride_h)
        if SPREAD:
            m_lse = i_seg < 1  # every lane has it
        else:
            m_lse = i_lane < tl.where(m_row, 1, 0)
        tl.store(o_lse + i_lane, b_lse_code, mask=m_lse)
