"""The probe of 2^x: a segment of mass 1 without a value, and one that weighs 2^x and has next to no mass."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.formats import Format
from verify.oracle.values import ExactValues
from verify.sweep.enclosures import Enclosed, power_of
from verify.sweep.points import INFINITE, SIGN, floats, subset
from verify.sweep.probe import Probe, Rows
from verify.sweep.settle import rounded_of

_ONE = 2.0**-30
"""From here up to 0, 2^x differs from 1 by less than a quarter of float32's ulp."""


class Exponential(Probe):
    """The exponential."""

    name = "exp2"
    sentence = (
        "m = 0, x; s = 1, 2^-149; o = 0, 1; x every float ≤ 0: y = 2^x / (1 + 2^(x-149)), which rounds as 2^x"
    )
    result = "output"
    # −∞, the last point, is an empty segment: 2^x is 0.
    ranges = ((SIGN, SIGN + INFINITE + 1),)

    def segments(self, point: int) -> int:
        """Return 2."""
        return 2

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these x."""
        x = floats(points)
        zero, one = torch.zeros_like(x), torch.ones_like(x)
        return Rows(
            m=torch.stack([zero, x], 1),
            s=torch.stack([one, torch.full_like(x, 2.0**-149)], 1),
            o=torch.stack([zero, one], 1),
            lengths=torch.full_like(x, 2, dtype=torch.int32),
        )

    def exact(self, points: Tensor, fmt: Format) -> tuple[ExactValues, Tensor]:
        """Return 2^x, less the 2^-149 of it or less that the second mass takes.

        Where x is whole the value therefore lies below a power of two by less than a rounding of float64, and
        so it does just below x = 0: the float64 next to the power stands for it, on its side.
        """
        x = floats(points)
        found = power_of(x)
        whole = (x == x.round()) & (x >= -1000)
        below = torch.nextafter(found.value, torch.zeros_like(found.value))
        value = torch.where(whole, below, found.value)
        value = torch.where(x > -_ONE, value.clamp(max=1 - 2.0**-53), value)
        values, doubtful = rounded_of(Enclosed(value, found.bound), fmt)
        return values, doubtful & ~whole & (x <= -_ONE)

    def subset(self, seed: int, fmt: Format) -> Tensor:
        """Return the usual points."""
        return subset(self.ranges, seed)
