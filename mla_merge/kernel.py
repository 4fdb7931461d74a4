"""The merge kernel. The mathematics and the error analysis stand in this package's README."""

# Triton types its own functions, and compiles only some of Python.
# ruff: noqa: RET505, RUF005, SIM108, PLR0912
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, no-redef, assignment"

from typing import Any

import triton
import triton.language as tl

from mla_merge.arithmetic import log_mass, power_of_two
from mla_merge.rounding import round_to_bfloat16, round_to_float32, round_to_narrow

# No constant here may be NaN: Triton compares globals at every launch, and a NaN never equals itself.
NEG_INF = tl.constexpr(float("-inf"))
# Weights are floored at 2^-1000: too small to be seen in any result, yet above 0, so that an infinite
# partial keeps its infinity whatever its weight, and weight 0 marks a segment that is not live.
MIN_LOG2_WEIGHT = tl.constexpr(-1000.0)


if isinstance(power_of_two, triton.JITFunction):

    @triton.jit
    def loop_bound(n):
        """Give n as it is: a compiled loop takes a runtime bound."""
        return n

else:

    def loop_bound(n: Any) -> int:
        """Give n as a Python int: Triton 3.6's interpreter fails to under numpy 2.4 and later."""
        return int(n.handle.data.item())


@triton.jit
def row_max(x, ROWS: tl.constexpr):
    """Reduce [ROWS, n] to the maximum of each row: a scalar for one row, else [ROWS, 1]."""
    if ROWS == 1:
        return tl.max(x)
    else:
        return tl.max(x, 1, keep_dims=True)


@triton.jit
def survey(b_m, b_s, m_active, ROWS: tl.constexpr):
    """Find the largest maximum of the live segments, and whether a live segment spoils its row."""
    m_live = m_active & (b_m != NEG_INF) & ((b_s != 0.0) | (b_m != b_m))  # noqa: PLR0124
    m_sound = (b_m < -NEG_INF) & (b_s > 0.0) & (b_s < -NEG_INF)
    b_top = row_max(tl.where(m_live & m_sound, b_m, NEG_INF), ROWS)
    return b_top, row_max(tl.where(m_live & ~m_sound, 1, 0), ROWS)


@triton.jit
def weigh(o_m, o_s, m_active, b_top):
    """Load statistics and give each segment's weight and mass; both are 0 unless it is live."""
    b_m = tl.load(o_m, mask=m_active, other=NEG_INF).to(tl.float64)
    b_s = tl.load(o_s, mask=m_active, other=0.0).to(tl.float64)
    m_live = (b_m != NEG_INF) & ((b_s != 0.0) | (b_m != b_m))  # noqa: PLR0124
    b_w = tl.where(m_live, power_of_two(tl.maximum(b_m - b_top, MIN_LOG2_WEIGHT)), 0.0)
    return b_w, tl.where(m_live, b_s * b_w, 0.0)  # a dead segment's s may be NaN


@triton.jit
def load_partials(o_o, o_step, b_left, i_col, width, STEP: tl.constexpr, EVICT: tl.constexpr):
    """Start the loads of STEP segments, of which b_left may be read; the others hold anything."""
    partials = ()
    for j in tl.static_range(STEP):
        # One comparison of integers: the interpreter makes an integer of a scalar condition & a block.
        m_col = i_col < tl.where(b_left > j, width, 0)
        partials = partials + (tl.load(o_o, mask=m_col, eviction_policy=EVICT),)
        o_o += o_step
    return partials


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
    BLOCK_S: tl.constexpr,
    STEP: tl.constexpr,
    EAGER: tl.constexpr,
    PREFETCH: tl.constexpr,
    EVICT: tl.constexpr,
    SPREAD: tl.constexpr,
):
    """Merge ROWS rows (one token and head each) over BLOCK_R columns; no constexpr changes a bit.

    output_ptr and lse_ptr are integer views. UNIT above 1: R is contiguous in o and output, and it and
    their other strides are counted in that many elements, so that the compiler sees what they are
    multiples of. BLOCK_S: segments surveyed together. STEP, a power of two up to 32: segments whose loads
    are started together. EAGER (S ≤ BLOCK_S): first loads do not wait for the number of active segments.
    PREFETCH: the next loads are started before the segments at hand are added. SPREAD: hand weights to
    whole blocks, as a warp of threads needs them; otherwise one to each row.
    """
    i_row = tl.program_id(0)
    if ROWS > 1:
        i_row = i_row.to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    i_col = tl.program_id(1) * BLOCK_R + tl.arange(0, BLOCK_R)[None, :]
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
    i_seg = tl.arange(0, BLOCK_S)[None, :].to(tl.int64)
    if EAGER:
        b_left = tl.where(m_row, S, 0)
        partials = load_partials(o_o, o_step, b_left, i_col, width, STEP, EVICT)
        b_all_m = tl.load(o_m + i_seg * m_stride_s, mask=i_seg < b_left, other=NEG_INF)
        b_all_s = tl.load(o_s + i_seg * s_stride_s, mask=i_seg < b_left, other=0.0)

    # The partition, in the integer type of seq_lens and on non-negative numbers only: L − 1 is taken of
    # L ≥ 1, and no product occurs. b_tile is the index of the row's last tile.
    b_len = tl.load(len_ptr + i_t * len_stride_t, mask=m_row, other=0)
    b_tile = (tl.maximum(b_len, 1) - 1) // tile_size
    b_active = tl.where(b_len > 0, b_tile // (b_tile // S + 1) + 1, 0)
    if ROWS == 1:
        n_active = b_active
    else:
        n_active = tl.max(b_active)

    # First pass: the largest maximum among live segments. An inactive segment reads as empty. A live NaN
    # in m or s, m = +inf, s < 0 or s = +inf spoils the whole row.
    if EAGER:
        b_top, b_spoilt = survey(b_all_m, b_all_s, i_seg < b_active, ROWS)
    else:
        if PREFETCH:
            partials = load_partials(o_o, o_step, b_active, i_col, width, STEP, EVICT)
        b_top = (i_row * 0).to(tl.float32) + NEG_INF
        b_spoilt = (i_row * 0).to(tl.int32)
        for i_start in range(0, loop_bound(n_active), BLOCK_S):
            m_active = i_seg < b_active - i_start
            b_m = tl.load(o_m + (i_start + i_seg) * m_stride_s, mask=m_active, other=NEG_INF)
            b_s = tl.load(o_s + (i_start + i_seg) * s_stride_s, mask=m_active, other=0.0)
            b_top_here, b_spoilt_here = survey(b_m, b_s, m_active, ROWS)
            b_top = tl.maximum(b_top, b_top_here)
            b_spoilt = tl.maximum(b_spoilt, b_spoilt_here)
    m_spoilt = b_spoilt != 0
    m_empty = b_top == NEG_INF
    b_top = tl.where(m_empty, 0.0, b_top).to(tl.float64)

    # Second pass: both sums in float64, one segment after the other in the order of their index. The
    # weights of 32 segments are computed side by side, then handed out one by one; on a GPU a program is
    # one warp and a gather is a shuffle.
    if SPREAD:
        # In one dimension, or Triton 3.6 moves every partial through shared memory.
        AXIS: tl.constexpr = 0
        i_lane = tl.arange(0, 32)
        i_wide = tl.zeros([BLOCK_R], tl.int32)
        i_narrow = tl.zeros([32], tl.int32)
        b_w = tl.zeros([32], tl.float64)
    else:
        AXIS: tl.constexpr = 1
        i_lane = tl.arange(0, 32)[None, :]
        i_wide = tl.zeros([ROWS, 1], tl.int32)
        i_narrow = i_wide
        b_w = tl.zeros([ROWS, 32], tl.float64)
    b_mass = b_w
    b_den = i_narrow.to(tl.float64)
    b_num = tl.zeros([ROWS, BLOCK_R], tl.float64)
    b_left = b_active
    for i_start in range(0, loop_bound(n_active), STEP):
        if not PREFETCH:
            partials = load_partials(o_o, o_step, b_left, i_col, width, STEP, EVICT)
        i_slot = i_start % 32
        if i_slot == 0:
            i_own = (i_start + i_lane).to(tl.int64)
            b_w, b_mass = weigh(o_m + i_own * m_stride_s, o_s + i_own * s_stride_s, i_lane < b_left, b_top)
        for j in tl.static_range(STEP):
            b_wj = tl.gather(b_w, i_wide + (i_slot + j), AXIS)
            b_den += tl.gather(b_mass, i_narrow + (i_slot + j), AXIS)
            if SPREAD:
                b_wj = b_wj[None, :]
            b_num += tl.where(b_wj != 0.0, partials[j], 0.0).to(tl.float64) * b_wj
        o_o += o_step * STEP
        b_left -= STEP
        if PREFETCH:
            partials = load_partials(o_o, o_step, b_left, i_col, width, STEP, EVICT)
    b_den = row_max(tl.where(m_spoilt, 1.0, b_den), ROWS)

    b_divisor = tl.where(m_spoilt, float("nan"), tl.where(m_empty, 1.0, b_den))
    b_y = b_num * (1.0 / b_divisor)
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
        b_lse = tl.where(m_spoilt, float("nan"), b_lse)
        o_lse = lse_ptr + (i_t * lse_stride_t + i_h * lse_stride_h)
        tl.store(o_lse, round_to_float32(b_lse), mask=m_row)
