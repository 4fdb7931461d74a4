"""The exponential and the logarithm of the kernel, in float64.

The exponential is made of additions, products and bit operations alone: the weights, and with them the
output, come out the same on every backend. Errors are bounded in the README of this package.
"""

# Triton types its own functions.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)
# About √2, in few bits: Triton 3.6 rounds the constants of a comparison to float32.
SPLIT = tl.constexpr(1.4140625)
# 1.5·2^52: adding it leaves no fraction bits, and the integer stands in the low bits of the sum.
SHIFTER = tl.constexpr(6755399441055744.0)


@triton.jit
def power_of_two(x):
    """Compute 2^x for float64 x from −1000 to 0, within 4 u; whole x give exact powers.

    x = n + f with n the nearest integer, exactly. 2^f is a polynomial, evaluated in pairs (Estrin) so that
    few of its steps wait for one another, and n is added to its exponent field.
    """
    shifted = x + SHIFTER
    f = x - (shifted - SHIFTER)
    f2 = f * f
    f4 = f2 * f2
    low = (1.0 + f * LN2) + f2 * (0.24022650695910097 + f * 0.0555041086648216)
    middle = (0.009618129107606888 + f * 0.0013333558146416936) + f2 * (
        0.0001540353044173605 + f * 1.525273382983612e-05
    )
    high = (1.321544258792169e-06 + f * 1.0178062445845774e-07) + f2 * (
        7.072585949269223e-09 + f * 4.4549605981865186e-10
    )
    power = low + f4 * (middle + f4 * high)
    bits = power.to(tl.int64, bitcast=True) + (shifted.to(tl.int64, bitcast=True) << 52)
    return bits.to(tl.float64, bitcast=True)


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
