"""Round float64 to the seven output formats, once, with the same result on every backend.

No narrow cast of a backend is used: Triton's interpreter truncates or corrupts them, float64 to fp8 compiles
nowhere, and a cast that passes through float32 or float16 rounds twice. What is used instead (float64
addition, integers, the cast to float32) is the same everywhere, so a CPU judges the code that a GPU runs.
"""

# Triton types its own functions.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True, kw_only=True)
class RoundingRule:
    """What the rounding needs to know of a format."""

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
def round_to_float32(x):
    """Round float64 to the code of the nearest float32.

    This one cast is right everywhere: compiled it is a single instruction that rounds to nearest and keeps
    subnormals, and numpy's is the processor's. Only the code of NaN differs, hence the choice of one.
    """
    code = x.to(tl.float32).to(tl.int32, bitcast=True)
    return tl.where(x != x, 0x7FC00000, code)  # noqa: PLR0124


@triton.jit
def round_to_bfloat16(x):
    """Round float64 to the code of the nearest bfloat16, ties to even, once.

    Adding 1.5·2^45 times the power of two at or below |x| leaves no more than 8 significant bits, and
    float64's own rounding is the rounding wanted; the power is held at 2^-126, where the subnormals begin.
    What comes back is a bfloat16 or 2^128, so the cast to float32, whose upper half it is, is exact, or inf.
    Zero comes back as +0. |x| is below 2^900 or infinite (the quotient of two sums stays below 2^300).
    """
    upper = (x.to(tl.int64, bitcast=True) >> 32).to(tl.int32)
    power = tl.maximum(upper & 0x7FF00000, (1023 - 126) << 20)
    magic = ((power + ((45 << 20) + 0x80000)).to(tl.int64) << 32).to(tl.float64, bitcast=True)
    nearest = (x + magic) - magic
    code = nearest.to(tl.float32).to(tl.int32, bitcast=True) >> 16
    return tl.where(x != x, 0x7FC0, code)  # noqa: PLR0124


@triton.jit
def round_to_narrow(x, precision, emin, max_code, overflow_code, nan_code, sign_code, signed_zero):
    """Round float64 to the nearest code of a format of at most 11 bits of precision, ties to even, once.

    The lower half of x becomes one sticky bit under the 20 significand bits of its upper half, which is
    below every bit that decides. The codes come back as int32, to be truncated by the store.
    """
    bits = x.to(tl.int64, bitcast=True)
    upper = (bits >> 32).to(tl.int32)
    magnitude = (upper & 0x7FFFFFFF) | tl.where(bits.to(tl.int32) != 0, 1, 0)
    exponent = (magnitude >> 20) - 1023
    # A float64 zero or subnormal gets a hidden bit that it lacks; it is shifted out all the same.
    significand = (magnitude & 0xFFFFF) | 0x100000
    scale = tl.maximum(exponent, emin)  # below emin the quantum stays that of the subnormals
    # From 22 on everything is below half a quantum; larger shifts would leave int32.
    shift = tl.minimum(21 - precision + scale - exponent, 23)
    half = (significand * 0 + 1) << (shift - 1)
    odd = (significand >> shift) & 1
    quanta = (significand + (half - 1 + odd)) >> shift
    # Adding, not or-ing: the hidden bit supplies the exponent field's first step, and a significand
    # that rounds up to the next power of two carries into it.
    code = quanta + ((scale - emin) << (precision - 1))
    code = tl.where(code > max_code, overflow_code, code)
    negative = (upper < 0) & ((code != 0) | (signed_zero != 0))
    code = tl.where(negative, code + sign_code, code)
    return tl.where(magnitude > 0x7FF00000, nan_code, code)
