"""The metric: how far a result is from the exact one, in units in the last place and in steps.

Both are float64 or int64 arithmetic without an approximation that could be felt. Values of a format are
exact in float64, and so is the difference of two that lie within a factor of two; a larger difference
is rounded, relatively by 2^-53. Scaling by an ulp multiplies by a power of two, and neither the largest
float32 (2^128) in units of the smallest ulp (2^-149) nor the reverse leaves float64's range.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verify.oracle.target import Kind, TargetFormat
from verify.oracle.values import ExactValues

NO_DISTANCE = torch.iinfo(torch.int64).max
"""The `steps` of a result that fails before any arithmetic: more than any distance."""


@dataclass(frozen=True, kw_only=True)
class Misplaced:
    """Where a result has another sort of value than the exact one; boolean masks of its shape."""

    spurious_nan: Tensor
    """NaN where a number or an infinity is right."""
    lost_nan: Tensor
    """Anything else where NaN is right."""
    lost_inf: Tensor
    """A number, or the opposite infinity, where the exact result is infinite."""
    spurious_inf: Tensor
    """An infinity that the correctly rounded number is not. Unlike the other three it names a failure and
    does not make one: infinity is a number here, and may lie within the bound of an overflowing one."""


def error_ulp(got: Tensor, exact: ExactValues, fmt: TargetFormat) -> Tensor:
    """Return (got − exact) / ulp(exact), signed, as float64 of the common shape.

    The ulp is the target format's at the exact value, or that of the binade below when the result has
    fallen out of the exact value's binade towards zero. An infinity counts as ±2^(emax + 1). Where the
    exact result is NaN or infinite the error is 0 for the same NaN or infinity. Whatever fails before any
    arithmetic, by the three masks of `misplaced`, is NaN: so a judge asks `~(error.abs() <= bound)`.

    A result of a wrong shape or an inexact dtype is a ValueError: nothing is broadcast or rounded here.
    """
    value = _finite(_widened(got, exact), fmt)
    rounded = _finite(exact.rounded, fmt)
    fell = _fell(value, exact, fmt)
    # The residual is in ulp of the exact value's own binade, hence halves of those below: also scaled.
    error = (value - rounded) * per_ulp(got, exact, fmt) - exact.residual * (1 + fell.double())
    return torch.where(exact.kind == Kind.NUMBER, error, torch.where(_placed(got, exact), 0.0, torch.nan))


def per_ulp(got: Tensor, exact: ExactValues, fmt: TargetFormat) -> Tensor:
    """Return 1 / ulp, a power of two in float64, of the ulp in which `error_ulp` measures each value."""
    fell = _fell(_finite(_widened(got, exact), fmt), exact, fmt)
    return _power_of_two(fmt.precision - 1 - exact.exponent + fell)


def steps(got: Tensor, exact: ExactValues, fmt: TargetFormat) -> Tensor:
    """Return the distance of a result from the correctly rounded one in the format's values, as int64.

    Zeros are one value, and infinity lies one step beyond the largest. Where the exact result is NaN or
    infinite the distance is 0 for the same; whatever fails before any arithmetic is `NO_DISTANCE`.
    Raises as `error_ulp` does.
    """
    value = _widened(got, exact)
    number = (exact.kind == Kind.NUMBER) & ~value.isnan()
    distance = (_ordinal(value, fmt) - _ordinal(exact.rounded, fmt)).abs()
    return torch.where(number, distance, torch.where(_placed(got, exact), 0, NO_DISTANCE))


def misplaced(got: Tensor, exact: ExactValues) -> Misplaced:
    """Say where NaNs and infinities stand that should not, or are missing; raises as `error_ulp` does."""
    value = _widened(got, exact)
    infinite = exact.kind == Kind.INFINITE
    return Misplaced(
        spurious_nan=value.isnan() & (exact.kind != Kind.NAN),
        lost_nan=~value.isnan() & (exact.kind == Kind.NAN),
        lost_inf=infinite & ~value.isnan() & (value != exact.rounded),
        spurious_inf=value.isinf() & (exact.kind == Kind.NUMBER) & (value != exact.rounded),
    )


def _widened(got: Tensor, exact: ExactValues) -> Tensor:
    if got.shape != exact.rounded.shape:
        raise ValueError(f"got has shape {list(got.shape)}, exact has {list(exact.rounded.shape)}")
    if not got.is_floating_point():
        raise ValueError(f"got has dtype {got.dtype}, a floating-point dtype is wanted")
    return got.to(torch.float64)


def _fell(value: Tensor, exact: ExactValues, fmt: TargetFormat) -> Tensor:
    """Whether a result has fallen out of the exact value's binade towards zero, where ulps are halved."""
    return (value.abs() < _power_of_two(exact.exponent)) & (exact.exponent > fmt.emin)


def _placed(got: Tensor, exact: ExactValues) -> Tensor:
    """Whether a NaN or an infinity stands where the exact result has the same."""
    value = got.to(torch.float64)
    return torch.where(exact.kind == Kind.NAN, value.isnan(), value == exact.rounded)


def _finite(value: Tensor, fmt: TargetFormat) -> Tensor:
    beyond = torch.full_like(value, 2.0 ** (fmt.emax + 1)).copysign(value)
    return torch.where(value.isinf(), beyond, value)


def _ordinal(value: Tensor, fmt: TargetFormat) -> Tensor:
    """Return the place of every value of a format in their order, ±0 being 0; meaningless for NaN."""
    value = _finite(value, fmt).nan_to_num(nan=0.0)
    # float64's own exponent field; it is below every emin for zero, and no float32 is subnormal in it.
    binade = ((value.view(torch.int64) >> 52) & 0x7FF) - 1023
    binade = binade.clamp(min=fmt.emin)
    significand = (value.abs() * _power_of_two(fmt.precision - 1 - binade)).to(torch.int64)
    magnitude = significand + ((binade - fmt.emin) << (fmt.precision - 1))
    return torch.where(value < 0, -magnitude, magnitude)


def _power_of_two(exponent: Tensor) -> Tensor:
    # Put together from bits: torch.ldexp takes the power in float32, and exp2 promises no exactness.
    return ((exponent.to(torch.int64) + 1023) << 52).view(torch.float64)
