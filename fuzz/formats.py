"""The seven result formats, and exact arithmetic on them in integers and fractions.

A format's values are ordered as its magnitude codes are: the code of a magnitude is

    n + (max(e, emin) − emin) · 2^(p − 1)        for the magnitude n · 2^(max(e, emin) − p + 1)

for subnormal and normal numbers alike, and a carry out of the significand lands on the next code by itself.
Encoding, order and distance below are all read off this one formula; what lies above the code of the largest
finite value is the infinity, if the format has one, and then the NaNs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import torch


@dataclass(frozen=True, kw_only=True)
class Format:
    """A binary floating-point format that the merged output may be stored in."""

    name: str
    """torch's name of the dtype."""
    bits: int
    """Storage width: 8, 16 or 32."""
    precision: int
    """Significand bits p, the hidden one included."""
    emin: int
    """Exponent of the smallest normal number 2^emin; the exponent bias is 1 − emin."""
    emax: int
    """Exponent e of the largest finite number, 2^e ≤ max_value < 2^(e+1)."""
    max_value: float
    """Largest finite number."""
    saturates: bool
    """Whether what overflows becomes ±max_value (the contract, for every fp8) and not ±inf."""
    has_inf: bool
    """Whether the format can hold infinities; float8_e5m2 can, yet never receives one from an overflow."""
    has_negative_zero: bool
    """Whether −0 exists; where it does not, its code is the only NaN."""
    nan_code: int
    """The NaN that `encode` writes."""

    @property
    def torch_dtype(self) -> torch.dtype:
        """The torch dtype that stores the format."""
        dtype: torch.dtype = getattr(torch, self.name)
        return dtype

    @property
    def int_dtype(self) -> torch.dtype:
        """The integer dtype of the same width, to view codes: uint8, int16 or int32."""
        return {8: torch.uint8, 16: torch.int16, 32: torch.int32}[self.bits]

    @property
    def sign_bit(self) -> int:
        """The sign's bit in a code."""
        return 1 << (self.bits - 1)

    @cached_property
    def max_code(self) -> int:
        """The code of max_value; the infinity's, where there is one, is the next."""
        return _magnitude_code(self.max_value, self)


def _format(
    name: str,
    *,
    bits: int,
    precision: int,
    emin: int,
    max_value: float,
    nan_code: int,
    has_inf: bool = True,
    has_negative_zero: bool = True,
) -> Format:
    return Format(
        name=name,
        bits=bits,
        precision=precision,
        emin=emin,
        emax=math.frexp(max_value)[1] - 1,
        max_value=max_value,
        saturates=bits == 8,
        has_inf=has_inf,
        has_negative_zero=has_negative_zero,
        nan_code=nan_code,
    )


_FLOAT32 = _format(
    "float32", bits=32, precision=24, emin=-126, max_value=(2 - 2.0**-23) * 2.0**127, nan_code=0x7FC00000
)
_FLOAT16 = _format("float16", bits=16, precision=11, emin=-14, max_value=65504.0, nan_code=0x7E00)
_BFLOAT16 = _format(
    "bfloat16", bits=16, precision=8, emin=-126, max_value=(2 - 2.0**-7) * 2.0**127, nan_code=0x7FC0
)
_E4M3FN = _format(
    "float8_e4m3fn", bits=8, precision=4, emin=-6, max_value=448.0, nan_code=0x7F, has_inf=False
)
_E5M2 = _format("float8_e5m2", bits=8, precision=3, emin=-14, max_value=57344.0, nan_code=0x7E)
_E4M3FNUZ = _format(
    "float8_e4m3fnuz",
    bits=8,
    precision=4,
    emin=-7,
    max_value=240.0,
    nan_code=0x80,
    has_inf=False,
    has_negative_zero=False,
)
_E5M2FNUZ = _format(
    "float8_e5m2fnuz",
    bits=8,
    precision=3,
    emin=-15,
    max_value=57344.0,
    nan_code=0x80,
    has_inf=False,
    has_negative_zero=False,
)

FORMATS: dict[str, Format] = {
    fmt.name: fmt for fmt in (_FLOAT32, _FLOAT16, _BFLOAT16, _E4M3FN, _E5M2, _E4M3FNUZ, _E5M2FNUZ)
}
"""Every format a result may have, by name."""


def format_named(name: str) -> Format:
    """Return the format of this torch name; ValueError names the seven there are."""
    try:
        return FORMATS[name]
    except KeyError:
        raise ValueError(f"unknown format {name!r}: one of {', '.join(FORMATS)} is wanted") from None


def decode(code: int, fmt: Format) -> float:
    """Return the value of a code, exactly; a code outside 0 … 2^bits − 1 is a ValueError."""
    if not 0 <= code < 1 << fmt.bits:
        raise ValueError(f"code {code} does not fit the {fmt.bits} bits of {fmt.name}")
    magnitude = code & (fmt.sign_bit - 1)
    negative = code != magnitude
    if negative and magnitude == 0 and not fmt.has_negative_zero:
        return math.nan
    if magnitude > fmt.max_code:
        if not (fmt.has_inf and magnitude == fmt.max_code + 1):
            return math.nan
        value = math.inf
    else:
        binade, fraction = divmod(magnitude, 1 << (fmt.precision - 1))
        significand = fraction + (1 << (fmt.precision - 1)) if binade else fraction
        value = math.ldexp(significand, fmt.emin + max(binade - 1, 0) - fmt.precision + 1)
    return -value if negative else value


def encode(value: Fraction | float, fmt: Format) -> int:
    """Return the code of a value rounded once to nearest, ties to even.

    What overflows, infinities included, saturates or becomes an infinity as the format says: the infinity of
    float8_e5m2 is therefore never written. NaN becomes `fmt.nan_code`, and −0.0 keeps its sign if it can.
    """
    if isinstance(value, float):
        if math.isnan(value):
            return fmt.nan_code
        negative = math.copysign(1.0, value) < 0
    else:
        negative = value < 0
    overflowed = fmt.max_code if fmt.saturates else fmt.max_code + 1
    if isinstance(value, float) and math.isinf(value):
        magnitude = overflowed
    else:
        magnitude = _magnitude_code(value, fmt)
        if magnitude > fmt.max_code:
            magnitude = overflowed
    if magnitude == 0 and not fmt.has_negative_zero:
        return 0
    return magnitude | fmt.sign_bit if negative else magnitude


def round_to(value: Fraction | float, fmt: Format) -> float:
    """Return the value of the format that `encode` chooses."""
    return decode(encode(value, fmt), fmt)


def exponent(value: Fraction | float) -> int:
    """Return the integer e with 2^e ≤ |value| < 2^(e+1); zero is a ValueError."""
    if value == 0:
        raise ValueError("zero has no exponent")
    numerator, denominator = value.as_integer_ratio()
    numerator = abs(numerator)
    guess = numerator.bit_length() - denominator.bit_length()
    reached = numerator >= denominator << guess if guess >= 0 else numerator << -guess >= denominator
    return guess if reached else guess - 1


def ulp(value: Fraction | float, fmt: Format) -> Fraction:
    """Return the unit in the last place at a value: 2^(max(e, emin) − p + 1), e = emin for zero.

    The exponent is not bounded above: clamp a value beyond the format's largest first.
    """
    e = fmt.emin if value == 0 else max(exponent(value), fmt.emin)
    return Fraction(2) ** (e - fmt.precision + 1)


def ordinal(value: float, fmt: Format) -> int:
    """Return the place of a format's value in the order of its values.

    Both zeros are 0, neighbours differ by 1, and the infinity comes one after the largest finite value.
    NaN and whatever the format cannot hold are a ValueError.
    """
    if math.isinf(value) and fmt.has_inf:
        magnitude = fmt.max_code + 1
    else:
        if not math.isfinite(value) or round_to(value, fmt) != value:
            raise ValueError(f"{value!r} is not a number that {fmt.name} can hold")
        magnitude = _magnitude_code(value, fmt)
    return -magnitude if value < 0 else magnitude


def steps(a: float, b: float, fmt: Format) -> int:
    """Return how many values of a format two of them are apart, never negative: 1 for neighbours."""
    return abs(ordinal(a, fmt) - ordinal(b, fmt))


def _magnitude_code(value: Fraction | float, fmt: Format) -> int:
    """Round a number without its sign to its magnitude code, as if codes had no upper end."""
    if value == 0:
        return 0
    e = max(exponent(value), fmt.emin)
    numerator, denominator = value.as_integer_ratio()
    shift = e - fmt.precision + 1
    significand, remainder = divmod(abs(numerator) << max(-shift, 0), denominator << max(shift, 0))
    # The only rounding in this module: up past the half, and at the half if that makes the code even.
    if 2 * remainder + significand % 2 > denominator << max(shift, 0):
        significand += 1
    return significand + ((e - fmt.emin) << (fmt.precision - 1))
