"""Rounding of float64 tensors to a target format: the vectorised writing of exact.round_point."""

import math
from typing import NamedTuple

import torch

from verify.oracle.doubled import Doubled
from verify.oracle.target import TargetFormat

_EXPONENT = 0x7FF << 52
_SIGNIFICAND = (1 << 52) - 1
TOLERANCE = 2.0**-14
"""A bound above this many ulp decides nothing; residuals are promised to four times that."""

_UP = 1 + 2.0**-40  # pays for the rounding of a bound itself


class Rounded(NamedTuple):
    """Float64 values rounded as if they were exact; the fields are those of values.ExactValues."""

    rounded: torch.Tensor
    residual: torch.Tensor
    exponent: torch.Tensor
    binade: torch.Tensor
    """2^max(e, emin), before any clamp of an overflow."""


def binade_of(x: torch.Tensor, fmt: TargetFormat) -> torch.Tensor:
    """Return 2^max(e, emin) for float64 x, 2^e ≤ |x| < 2^(e+1)."""
    return (x.view(torch.int64) & _EXPONENT).view(torch.float64).clamp_(min=2.0**fmt.emin)


def is_power_of_two(x: torch.Tensor) -> torch.Tensor:
    """Tell where x is ± a power of two (normal float64s only; 0 counts too)."""
    return (x.view(torch.int64) & _SIGNIFICAND) == 0


def round_values(x: torch.Tensor, fmt: TargetFormat, largest: float = math.inf) -> Rounded:
    """Round contiguous float64 x to nearest, ties to even, with overflow; |x| ≤ largest is promised."""
    binade = binade_of(x, fmt)
    magic = binade * (1.5 * 2.0 ** (53 - fmt.precision))  # its ulp is the format's ulp at x
    rounded = (x + magic).sub_(magic)
    residual = (x - rounded).div_(binade).mul_(2.0 ** (fmt.precision - 1))
    exponent = (binade.view(torch.int64) >> 52).sub_(1023).to(torch.int32)
    if largest < fmt.max_value * (1 - 2.0**-12):
        return Rounded(rounded, residual, exponent, binade)
    if fmt.saturates:
        beyond = (rounded.abs() > fmt.max_value) | (x.abs() >= fmt.max_value)
        rounded = rounded.clamp(-fmt.max_value, fmt.max_value)
    else:
        beyond = exponent > fmt.emax
        infinite = rounded.abs() > fmt.max_value
        rounded = torch.where(infinite, torch.copysign(torch.full_like(x, math.inf), x), rounded)
    residual = torch.where(beyond, 0.0, residual)
    return Rounded(rounded, residual, exponent.clamp(max=fmt.emax + (not fmt.saturates)), binade)


def _clamped(x: torch.Tensor, bound: torch.Tensor, fmt: TargetFormat) -> torch.Tensor:
    """Tell where a value within `bound` of x is clamped for certain, whatever it is near to."""
    return x.abs() - bound > (fmt.max_value if fmt.saturates else 2.0 ** (fmt.emax + 1))


def undecided(x: torch.Tensor, found: Rounded, bound: torch.Tensor, fmt: TargetFormat) -> torch.Tensor:
    """Tell where a value within `bound` of x, which rounds as `found`, might round or lie otherwise.

    True wherever a multiple of half an ulp is within the bound, but for representable numbers other than
    powers of two, about which nothing changes; and where the bound exceeds TOLERANCE ulp.
    """
    wide = (bound * (2.0 ** (fmt.precision - 1) * _UP)).div(found.binade)
    off = found.residual.abs()
    near = ((off - 0.25).abs_().add_(wide) >= 0.25) | (wide > TOLERANCE)
    if not near.any():
        return near
    changes = (off > 0.25) | (wide > TOLERANCE) | is_power_of_two(found.rounded) & (found.rounded != 0)
    return near & changes & ~_clamped(x, bound, fmt)


def nearest_edge(x: torch.Tensor, fmt: TargetFormat) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the multiple of half an ulp nearest to float64 x, exactly, and whether anything changes there.

    Something does at midpoints and at powers of two.
    """
    half = binade_of(x, fmt).mul_(2.0**-fmt.precision)
    halves = (x / half).round_()
    edge = halves * half
    return edge, (halves.remainder(2) != 0) | is_power_of_two(edge) & (edge != 0)


def nudged(edge: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """Return a float64 next to `edge` on the side of the direction's sign, or the edge where that is 0."""
    beside = torch.nextafter(edge, torch.copysign(torch.full_like(edge, math.inf), direction))
    beside = torch.where(edge == 0, torch.sign(direction) * 2.0**-1000, beside)
    return torch.where(direction == 0, edge, beside)


def round_doubled(
    value: Doubled, bound: torch.Tensor, fmt: TargetFormat
) -> tuple[Rounded, torch.Tensor, torch.Tensor]:
    """Round a double-double known to within `bound`; also return where that is doubtful, and where close.

    Close are the doubtful ones within 2·TOLERANCE ulp of the nearest multiple of half an ulp.
    """
    hi, lo = value
    edge, changes = nearest_edge(hi, fmt)
    found = round_values(torch.where(hi == edge, nudged(edge, lo), hi), fmt)
    clear = ((hi - edge) + lo).abs() > bound * _UP
    tight = bound * (2.0 ** (fmt.precision - 1) * _UP) <= found.binade * TOLERANCE
    doubtful = ~(tight & (clear | ~changes) | _clamped(hi, bound, fmt))
    return found, doubtful, doubtful & tight
