"""2^d and e^d as double-doubles, with a proved bound (derived in the README of this package)."""

import math

import torch

from verify.oracle.doubled import Doubled, add, multiply, two_sum
from verify.oracle.dyadic import UNIT, power

EPS_POWER = 2.0**-102
"""Relative error of exp2 and of exp."""

_STEPS = 1024  # of the table in a unit interval
_TABLE_BITS = 256


def _doubled(numerator: int, bits: int) -> tuple[float, float]:
    """Return the double-double nearest to numerator·2^-bits."""
    hi = numerator / (1 << bits)  # correctly rounded
    whole, denominator = hi.as_integer_ratio()
    return hi, (numerator * denominator - (whole << bits)) / (denominator << bits)


def _table() -> torch.Tensor:
    """Return 2^(j/1024) for j = −512…512 as [1025, 2] float64."""
    half = _STEPS // 2
    rows = []
    for j in range(-half, half + 1):
        value = power(j * (1 << UNIT) // _STEPS, _TABLE_BITS)  # 2^(fractional part)
        rows.append(_doubled(value, _TABLE_BITS + (1 if j < 0 else 0)))
    return torch.tensor(rows, dtype=torch.float64)


def _logarithm_of_two() -> int:
    """Return ln 2·2^_TABLE_BITS within 1, from Σ 1/(n·2^n)."""
    bits = _TABLE_BITS + 16
    return sum((1 << (bits - n)) // n for n in range(1, bits + 1)) >> 16


def _step_of_e() -> tuple[float, float, float]:
    """Return ln 2/_STEPS in three parts, the first two of 33 bits each."""
    parts, rest = [], _LN2_FIXED
    for low in (_TABLE_BITS - 33, _TABLE_BITS - 66):
        part = rest >> low << low
        parts.append(part / (_STEPS << _TABLE_BITS))
        rest -= part
    return parts[0], parts[1], rest / (_STEPS << _TABLE_BITS)


_LN2_FIXED = _logarithm_of_two()
_STEP = _step_of_e()
LN2 = _doubled(_LN2_FIXED, _TABLE_BITS)
INVERSE_LN2 = _doubled((1 << (2 * _TABLE_BITS)) // _LN2_FIXED, _TABLE_BITS)
_COEFFICIENTS = [_doubled((1 << _TABLE_BITS) // math.factorial(k), _TABLE_BITS) for k in range(5)]
_TABLE = _table()
_tables = {torch.device("cpu"): _TABLE}


def constant(pair: tuple[float, float], like: torch.Tensor) -> Doubled:
    """Return a double-double constant in the shape of `like`."""
    return torch.full_like(like, pair[0]), torch.full_like(like, pair[1])


def two_to(n: torch.Tensor) -> torch.Tensor:
    """Return 2^n exactly for whole float64 numbers n in [−1022, 1023]."""
    return ((n.to(torch.int64) + 1023) << 52).view(torch.float64)


def exp2(d: Doubled) -> Doubled:
    """Return 2^(hi + lo) with a relative error below EPS_POWER, for hi in [−900, 1] and |lo| ≤ u·|hi|.

    2^d = 2^n · 2^(j/1024) · e^z: n and j take the nearest multiples of 1 and 1/1024 out of hi exactly, and
    z = (what is left)·ln 2, |z| ≤ 2^-11.5, goes through a Taylor series to z^7.
    """
    n = torch.round(d[0])
    fraction = d[0] - n
    j = torch.round(fraction * _STEPS)
    return _assembled(n, j, multiply(two_sum(fraction - j / _STEPS, d[1]), constant(LN2, n)))


def exp(d: Doubled) -> Doubled:
    """Return e^(hi + lo) with a relative error below EPS_POWER, for hi in [−620, 1] and |lo| ≤ u·|hi|.

    e^d = 2^n · 2^(j/1024) · e^z as in `exp2`: the nearest multiple of ln 2/1024 is taken out in three parts,
    the products with the first two of which are exact (Cody and Waite).
    """
    steps = torch.round(d[0] * (_STEPS * INVERSE_LN2[0]))  # at most 20 bits
    n = torch.round(steps / _STEPS)
    rest = two_sum(d[0], -(steps * _STEP[0]))
    rest = add(rest, two_sum(d[1], -(steps * _STEP[1])))
    z = add(rest, (-(steps * _STEP[2]), torch.zeros_like(n)))
    return _assembled(n, steps - n * _STEPS, z)


def _assembled(n: torch.Tensor, j: torch.Tensor, z: Doubled) -> Doubled:
    """Return 2^n · 2^(j/1024) · e^z for whole n, whole j in [−512, 512] and |z| ≤ 2^-11.5."""
    tail = z[0] * (1 / 120 + z[0] * (1 / 720 + z[0] * (1 / 5040)))
    series = add(constant(_COEFFICIENTS[4], n), (tail, torch.zeros_like(tail)))
    for k in (3, 2, 1):
        series = add(constant(_COEFFICIENTS[k], n), multiply(z, series))
    if n.device not in _tables:
        _tables[n.device] = _TABLE.to(n.device)
    entries = _tables[n.device][j.to(torch.int64) + _STEPS // 2]
    base = entries[..., 0], entries[..., 1]
    hi, lo = add(base, multiply(base, multiply(z, series)))
    factor = two_to(n)
    return hi * factor, lo * factor
