"""What the merge kernel does with segments: survey, weigh, load and add them.

The mathematics stands in this package's README; the shapes, in the docstring of the kernel.
"""

# Triton types its own functions, and compiles only some of Python.
# ruff: noqa: N803, N806, RET505, RUF005
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, assignment"

import triton
import triton.language as tl

from mla_merge.arithmetic import power_of_two

# No constant here may be NaN: Triton compares globals at every launch, and a NaN never equals itself.
NEG_INF = tl.constexpr(float("-inf"))
# Weights are floored at 2^-1000: too small to be seen in any result, yet above 0, so that an infinite
# partial keeps its infinity whatever its weight, and weight 0 marks a segment that is not live.
MIN_LOG2_WEIGHT = tl.constexpr(-1000.0)
# Places in the order of maxima: above every float, and that of −inf, which no live segment has.
SPOILT = tl.constexpr(0x7FFFFFFF)
EMPTY = tl.constexpr(-0x7F800001)


@triton.jit
def row_max(x, ROWS: tl.constexpr):
    """Reduce statistics to the maximum of each row: a scalar for one row, else [ROWS, 1]."""
    if ROWS == 1:
        return tl.max(x)
    else:
        return tl.max(x, 1, keep_dims=True)


@triton.jit
def is_live(b_m, b_s):
    """Tell whether active segments have mass, or are NaN in m or s."""
    return (b_m != NEG_INF) & ((b_s != 0.0) | (b_m != b_m))  # noqa: PLR0124


@triton.jit
def survey(b_m, b_s, m_active):
    """Give each segment an int32 that orders maxima as the floats do: EMPTY unless live, SPOILT if unsound.

    One reduction then finds the largest maximum of the live segments and whether any spoils the row; the
    map of the bits is its own inverse.
    """
    m_sound = (b_m < -NEG_INF) & (b_s > 0.0) & (b_s < -NEG_INF)
    bits = b_m.to(tl.int32, bitcast=True)
    b_order = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return tl.where(m_active & is_live(b_m, b_s), tl.where(m_sound, b_order, SPOILT), EMPTY)


@triton.jit
def weigh(b_m, b_s, m_active, b_top):
    """Give each segment's weight and mass in float64; both are 0 unless it is live."""
    m_live = m_active & is_live(b_m, b_s)
    b_gap = tl.maximum(b_m.to(tl.float64) - b_top, MIN_LOG2_WEIGHT)
    b_w = tl.where(m_live, power_of_two(b_gap), 0.0)
    return b_w, tl.where(m_live, b_s.to(tl.float64) * b_w, 0.0)  # a dead segment's s may be NaN


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


@triton.jit
def add_segment(b_num, b_den, b_partial, b_w, b_mass, i_slot, i_wide, i_lane, SPREAD: tl.constexpr):
    """Add the segment whose weight and mass stand in slot i_slot of b_w and b_mass.

    i_wide and i_lane are zeros of the shapes in which its weight and mass are wanted; on a GPU the gathers
    are shuffles within a warp.
    """
    AXIS: tl.constexpr = 0 if SPREAD else 1
    b_den += tl.gather(b_mass, i_lane + i_slot, AXIS)
    b_wj = tl.gather(b_w, i_wide + i_slot, AXIS)
    if SPREAD:
        b_wj = b_wj[:, None]
    b_num += tl.where(b_wj != 0.0, b_partial, 0.0).to(tl.float64) * b_wj
    return b_num, b_den
