"""Round float64 to the seven output formats by integer arithmetic on its bits.

No cast of a backend is used: Triton's interpreter truncates or corrupts narrow casts, float64 to fp8
compiles nowhere, and a cast that passes through float32 or float16 rounds twice. Integers are the same
everywhere, so a CPU judges the store code that a GPU runs.
"""

# Triton types its own functions.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True, kw_only=True)
class RoundingRule:
    """What the integer rounding needs to know of a format, all as compile-time constants."""

    precision: int
    """Significand bits, the hidden one included."""
    emin: int
    """Exponent of the smallest normal number, 2^emin; its exponent field is 1 in every format."""
    max_code: int
    """Code of the largest finite value."""
    overflow_code: int
    """Code that a larger magnitude gets: infinity, or max_code where the format saturates."""
    nan_code: int
    """Code that every NaN gets, whatever its sign and payload."""
    sign_code: int
    """Value of the sign bit."""
    signed_zero: bool
    """Whether sign_code alone is −0; otherwise it is NaN, and a negative that rounds to 0 becomes +0."""
    storage: torch.dtype
    """Integer dtype of the same width, as which the result is written."""


def _ieee(precision: int, emin: int, bits: int, storage: torch.dtype) -> RoundingRule:
    """Give the rule of an IEEE format: all-ones exponents are infinity and NaN; NaN is the quiet one."""
    sign = 1 << (bits - 1)
    infinity = sign - (1 << (precision - 1))
    return RoundingRule(
        precision=precision,
        emin=emin,
        max_code=infinity - 1,
        overflow_code=infinity,
        nan_code=infinity | 1 << (precision - 2),
        sign_code=sign,
        signed_zero=True,
        storage=storage,
    )


def _fp8(precision: int, emin: int, max_code: int, nan_code: int) -> RoundingRule:
    """Give the rule of an 8-bit format, which saturates; the pair whose NaN is 0x80 has no −0."""
    return RoundingRule(
        precision=precision,
        emin=emin,
        max_code=max_code,
        overflow_code=max_code,
        nan_code=nan_code,
        sign_code=0x80,
        signed_zero=nan_code != 0x80,
        storage=torch.int8,
    )


RULES: dict[torch.dtype, RoundingRule] = {
    torch.float32: _ieee(24, -126, 32, torch.int32),
    torch.float16: _ieee(11, -14, 16, torch.int16),
    torch.bfloat16: _ieee(8, -126, 16, torch.int16),
    torch.float8_e4m3fn: _fp8(4, -6, max_code=0x7E, nan_code=0x7F),
    torch.float8_e5m2: _fp8(3, -14, max_code=0x7B, nan_code=0x7F),
    torch.float8_e4m3fnuz: _fp8(4, -7, max_code=0x7F, nan_code=0x80),
    torch.float8_e5m2fnuz: _fp8(3, -15, max_code=0x7F, nan_code=0x80),
}


@triton.jit
def round_to_code(
    x,
    precision: tl.constexpr,
    emin: tl.constexpr,
    max_code: tl.constexpr,
    overflow_code: tl.constexpr,
    nan_code: tl.constexpr,
    sign_code: tl.constexpr,
    signed_zero: tl.constexpr,
):
    """Round float64 to the nearest code of a format, ties to even, once.

    x is a float64 block; the codes come back as int64, to be truncated by the store.
    """
    bits = x.to(tl.int64, bitcast=True)
    magnitude = bits & 0x7FFFFFFFFFFFFFFF
    exponent = (magnitude >> 52) - 1023
    # A float64 zero or subnormal gets a hidden bit that it lacks; it is shifted out all the same.
    significand = (magnitude & 0xFFFFFFFFFFFFF) | 0x10000000000000
    scale = tl.maximum(exponent, emin)  # below emin the quantum stays that of the subnormals
    # From 54 on everything is below half a quantum; larger shifts would leave int64.
    shift = tl.minimum(53 - precision + scale - exponent, 55)
    half = (significand * 0 + 1) << (shift - 1)
    odd = (significand >> shift) & 1
    quanta = (significand + (half - 1 + odd)) >> shift
    # Adding, not or-ing: the hidden bit supplies the exponent field's first step, and a significand
    # that rounds up to the next power of two carries into it.
    code = quanta + ((scale - emin) << (precision - 1))
    code = tl.where(code > max_code, overflow_code, code)
    negative = bits < 0
    if not signed_zero:
        negative = negative & (code != 0)
    code = tl.where(negative, code + sign_code, code)
    return tl.where(magnitude > 0x7FF0000000000000, nan_code, code)
