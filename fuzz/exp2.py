"""2^x with the same bits everywhere: single IEEE operations, and an exponent put in by hand."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import power_of_two

_LN2: Final = 0.6931471805599453
_DEGREE: Final = 13
"""The first term left out, (ln 2 / 2)^14 / 14!, is below 2^-57."""

_COEFFICIENTS: Final = [1.0]
for _k in range(1, _DEGREE + 1):
    _COEFFICIENTS.append(_COEFFICIENTS[-1] * _LN2 / _k)


def exp2(x: torch.Tensor) -> torch.Tensor:
    """Return 2^x in float64 to about 2^-51 relative, 0 below −1000 (−inf too), +inf from 1024, NaN for NaN.

    A library's exp2 differs between versions and processors; a producer stand-in must not. It is the Taylor
    series about the nearest integer, |x − n| ≤ ½, in Horner form.
    """
    x = x.to(torch.float64)
    usable = torch.where(torch.isfinite(x), x, torch.zeros_like(x)).clamp(-1000, 1024)
    whole = torch.floor(usable + 0.5)
    part = usable - whole
    series = torch.full_like(part, _COEFFICIENTS[-1])
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        series = series * part
        series = series + coefficient
    # 2^1024 has no float64; one factor of 2 is put in last.
    value = series * power_of_two(whole.to(torch.int64) - 1) * 2.0
    value = torch.where(x < -1000, torch.zeros_like(value), value)
    value = torch.where(x >= 1024, torch.full_like(value, torch.inf), value)
    return torch.where(torch.isnan(x), torch.full_like(value, torch.nan), value)
