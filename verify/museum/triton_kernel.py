"""A merge in Triton: float64, a row a program, all segments at once; and in it the lines that go wrong.

FAULT is chosen when the kernel is compiled; the empty one is sound. The exhibits stand in in_triton.py.
"""

# Triton types its own functions, and its constexpr arguments are written in capitals.
# ruff: noqa: N803, PLR0915, PLR0912
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, no-redef, assignment"

import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)
INF = tl.constexpr(float("inf"))


@triton.jit
def merge_row(
    o_ptr,
    m_ptr,
    s_ptr,
    len_ptr,
    output_ptr,
    lse_ptr,
    tokens,
    heads,
    tile_size,
    S,
    R,
    FAULT: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    """Merge one row; output_ptr is float32 or float64, lse_ptr float32."""
    i_t = tl.program_id(0)
    i_h = tl.program_id(1)
    i_row = i_t * heads + i_h
    if FAULT != "offsets in 32 bits":
        i_row = i_row.to(tl.int64)
    i_s = tl.arange(0, BLOCK_S)
    i_r = tl.arange(0, BLOCK_R)
    m_r = i_r < R

    length = tl.load(len_ptr + i_t)
    if FAULT == "ceiling in 32 bits":
        length = length.to(tl.int32)
        per_segment = tl.maximum((length + S * tile_size - 1) // (S * tile_size), 1)
        active = (length + per_segment * tile_size - 1) // (per_segment * tile_size)
    else:
        tiles = (tl.maximum(length.to(tl.int64), 1) - 1) // tile_size + 1
        per_segment = (tiles - 1) // S + 1
        active = tl.where(length > 0, (tiles - 1) // per_segment + 1, 0)

    written = i_s < active
    b_m = tl.load(m_ptr + i_row * S + i_s, mask=written, other=-INF).to(tl.float64)
    b_s = tl.load(s_ptr + i_row * S + i_s, mask=written, other=0.0).to(tl.float64)
    m_nan = b_m != b_m  # noqa: PLR0124
    m_live = written & (b_m != -INF) & ((b_s != 0.0) | m_nan)
    m_bad = m_live & (m_nan | (b_s != b_s) | (b_m == INF) | (b_s < 0.0) | (b_s == INF))  # noqa: PLR0124
    n_live = tl.sum(m_live.to(tl.int32))
    n_bad = tl.sum(m_bad.to(tl.int32))
    if FAULT == "maximum of the padding":
        b_top = tl.max(tl.where(m_live & ~m_bad, b_m, 0.0))
    else:
        b_top = tl.max(tl.where(m_live & ~m_bad, b_m, -INF))
        b_top = tl.where(b_top == -INF, 0.0, b_top)
    b_gap = tl.where(m_live & ~m_bad, b_m - b_top, -INF)
    if FAULT == "natural exponential":
        b_w = tl.exp(b_gap)
    elif FAULT == "maximum of the padding":
        b_w = tl.exp2(b_gap.to(tl.float32)).to(tl.float64)
        b_w = tl.where(b_gap < -126.0, 0.0, b_w)
    else:
        b_w = tl.exp2(b_gap)
    b_mass = tl.where(m_live & ~m_bad, b_s * b_w, 0.0)

    m_read = m_live
    if FAULT == "unwritten times zero":
        m_read = i_s < S
    b_o = tl.load(
        o_ptr + (i_row * S + i_s[:, None]) * R + i_r[None, :],
        mask=m_read[:, None] & m_r[None, :],
        other=0.0,
    ).to(tl.float64)
    m_onan = b_o != b_o  # noqa: PLR0124
    n_nan = tl.sum(m_onan.to(tl.int32), 0)
    n_up = tl.sum((b_o == INF).to(tl.int32), 0)
    n_down = tl.sum((b_o == -INF).to(tl.int32), 0)
    b_terms = tl.where(m_onan | (b_o == INF) | (b_o == -INF), 0.0, b_o) * b_w[:, None]
    if FAULT == "float32 sums":
        b_num = tl.sum(b_terms.to(tl.float32), 0).to(tl.float64)
        b_den = tl.sum(b_mass.to(tl.float32)).to(tl.float64)
    elif FAULT == "first 64 segments":
        b_num = tl.sum(tl.where((i_s < 64)[:, None], b_terms, 0.0), 0)
        b_den = tl.sum(tl.where(i_s < 64, b_mass, 0.0))
    else:
        b_num = tl.sum(b_terms, 0)
        b_den = tl.sum(b_mass)

    if FAULT == "float32 reciprocal":
        b_y = b_num * (1.0 / b_den).to(tl.float32).to(tl.float64)
    else:
        b_y = b_num / b_den
    b_y = tl.where(n_up > 0, INF, tl.where(n_down > 0, -INF, b_y))
    b_y = tl.where((n_nan > 0) | ((n_up > 0) & (n_down > 0)) | (n_bad > 0), float("nan"), b_y)
    b_y = tl.where(n_live == 0, 0.0, b_y)

    # The exponent of the mass belongs to the integer part of the maximum before any logarithm.
    bits = tl.where(b_den > 0.0, b_den, 1.0).to(tl.int64, bitcast=True)
    power = ((bits >> 52) - 1023).to(tl.float64)
    fraction = ((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).to(tl.float64, bitcast=True)
    high = fraction > 1.4142135623730951
    power = tl.where(high, power + 1.0, power)
    fraction = tl.where(high, 0.5 * fraction, fraction)
    whole = tl.floor(b_top + 0.5)
    b_lse = ((whole + power) + (b_top - whole)) * LN2 + tl.log(fraction)
    b_lse = tl.where(n_bad > 0, float("nan"), tl.where(n_live == 0, -INF, b_lse))

    if FAULT == "no mask on the store":
        m_r = i_r < BLOCK_R
    if FAULT == "last block of columns":
        m_r = i_r < R // 8 * 8
    if FAULT == "early return":
        m_r = i_r < tl.where(active > 0, R, 0)
    o_output = output_ptr + i_row * R + i_r
    tl.store(o_output, b_y.to(output_ptr.dtype.element_ty), mask=m_r)
    if FAULT == "lse by head":
        i_row = (i_h * tokens + i_t).to(tl.int64)
    if FAULT == "lse of one segment":
        tl.store(lse_ptr + i_row, b_lse.to(tl.float32), mask=active != 1)
    else:
        tl.store(lse_ptr + i_row, b_lse.to(tl.float32))
    if FAULT == "scratch in the maxima":
        tl.store(m_ptr + i_row * S + i_s, b_w.to(tl.float32), mask=m_live)


@triton.jit
def add_segment(o_ptr, w_ptr, num_ptr, S, R, BLOCK_R: tl.constexpr):
    """Add one segment of one row to the row's sums, to which the programs of the others add as well."""
    i_row = tl.program_id(0).to(tl.int64)
    i_s = tl.program_id(1)
    i_r = tl.arange(0, BLOCK_R)
    m_r = i_r < R
    b_w = tl.load(w_ptr + i_row * S + i_s)
    b_o = tl.load(o_ptr + (i_row * S + i_s) * R + i_r, mask=m_r, other=0.0)
    tl.atomic_add(num_ptr + i_row * R + i_r, b_o * b_w, mask=m_r)
