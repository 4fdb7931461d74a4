"""ln and 2^x of float32 numbers in float64, with proved bounds on the error.

Nothing is believed of a library's functions: only float64 additions, products and conversions are used, each
a call of its own, so that no compiler contracts two of them, and all are IEEE's on every device. The
bounds are derived in the README of this package; u = 2^-53.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from mpmath.libmp import from_int, from_rational, mpf_ln2, mpf_log, mpf_pow, mpf_shift, round_nearest, to_int
from torch import Tensor

from fuzz.bits import power_of_two

U = 2.0**-53
_BITS = 200  # of the constants, before they are cut into float64s
_SPLIT = 181.0 / 128.0  # about √2: significands above are halved
_CELLS = 128  # steps of both tables in a unit interval
_FEW = 10  # fraction bits of the reciprocals, so few that their products with float32s are exact


class Enclosed(NamedTuple):
    """Numbers known to within a bound."""

    value: Tensor
    """float64."""
    bound: Tensor
    """float64: the exact value lies within this of `value`."""


def _fixed(number: object) -> int:
    """Return an mpmath number in units of 2^-_BITS, within 1."""
    return int(to_int(mpf_shift(number, _BITS), round_nearest))


def _words(fixed: int, fraction_bits: int | None = None) -> tuple[float, float]:
    """Cut a number in units of 2^-_BITS into a high word, of so many fraction bits if told, and a low one."""
    if fraction_bits is None:
        high = fixed / (1 << _BITS)  # correctly rounded
        numerator, denominator = high.as_integer_ratio()
        rest = fixed - numerator * (1 << _BITS) // denominator
    else:
        unit = 1 << (_BITS - fraction_bits)
        whole = (fixed + unit // 2) // unit
        high, rest = whole / (1 << fraction_bits), fixed - whole * unit
    return high, rest / (1 << _BITS)


_LN2_HIGH, _LN2_LOW = _words(_fixed(mpf_ln2(_BITS + 20, round_nearest)), fraction_bits=28)


@cache
def _logarithms(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return 1/c, to few bits, and −ln of that in two words, for c = i/128, by i from 0."""
    rows = []
    for i in range(int(_SPLIT * _CELLS) + 2):
        inverse = round((_CELLS << _FEW) / max(i, 64))
        logarithm = mpf_log(from_rational(1 << _FEW, inverse, _BITS + 20), _BITS + 20, round_nearest)
        rows.append((inverse * 2.0**-_FEW, *_words(_fixed(logarithm))))
    table = torch.tensor(rows, dtype=torch.float64, device=device)
    return table[:, 0].contiguous(), table[:, 1].contiguous(), table[:, 2].contiguous()


@cache
def _powers(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return 2^(j/128) in two words, for j from −64 to 64."""
    rows = []
    for j in range(-_CELLS // 2, _CELLS // 2 + 1):
        exponent = from_rational(j, _CELLS, _BITS + 20)
        rows.append(_words(_fixed(mpf_pow(from_int(2), exponent, _BITS + 20, round_nearest))))
    table = torch.tensor(rows, dtype=torch.float64, device=device)
    return table[:, 0].contiguous(), table[:, 1].contiguous()


def _two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def log_of_mass(m: Tensor, s: Tensor) -> Enclosed:
    """Return ln(s·2^m) for float32 m and s > 0, m plus any exponent of s having at most 25 bits.

    s = 2^e·c with c about 1, r = c·(1/c to few bits) − 1 exactly, and the sum of (m + e)·ln 2, the table's
    logarithm and ln(1 + r) is kept in two words until the end, so that what cancels costs nothing.
    """
    bits = s.double().view(torch.int64)
    c = ((bits & ((1 << 52) - 1)) | (1023 << 52)).view(torch.float64)
    e = (bits >> 52) - 1023
    upper = c > _SPLIT
    c = torch.where(upper, c * 0.5, c)
    t = m.double() + (e + upper)
    place = (c * _CELLS).round().to(torch.int64)
    inverse, high, low = (column[place] for column in _logarithms(s.device))
    r = c * inverse - 1
    square = r * r
    series = torch.full_like(r, 1 / 9)
    for k in range(8, 1, -1):
        series = series * r + (1 / k if k % 2 else -1 / k)
    total, lost = _two_sum(t * _LN2_HIGH, high)
    total, lost_too = _two_sum(total, r)
    value = total + ((lost + lost_too) + (series * square + (t * _LN2_LOW + low)))
    bound = value.abs() * (U * (1 + 2.0**-20)) + square * 2.0**-50 + t.abs() * 2.0**-79
    return Enclosed(value, bound + (high != 0) * 2.0**-103)


def power_of(x: Tensor) -> Enclosed:
    """Return 2^x for float32 x ≤ 0; below −1000, where no format sees a difference, 2^-1000 within itself."""
    clamped = x.double().clamp(min=-1000.0)
    n = clamped.round()
    f = clamped - n
    j = (f * _CELLS).round()
    g = f - j / _CELLS
    z, rest = g * _LN2_HIGH, g * _LN2_LOW
    whole = z + rest
    series = torch.full_like(z, 1 / 720)
    for factorial in (120, 24, 6, 2):
        series = series * whole + 1 / factorial
    high, low = (column[j.to(torch.int64) + _CELLS // 2] for column in _powers(x.device))
    value = high + (low + high * (z + (rest + series * (whole * whole))))
    value = value * power_of_two(n)
    return Enclosed(value, torch.where(x < -1000, value, value * (1.02 * U)))
