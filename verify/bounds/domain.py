"""The values that a float32 merge is excused: whose products, sums or results leave float32's normal range.

A subnormal is no excuse where its loss, at most 2^-126, is paid for: beside a sum of S·2^-101 or more,
2·S such losses are below one unit of it, and beside a result that is the quotient of sums of that size,
one is below half a unit. The README counts what the reserve of the bounds pays.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.bounds.rows import Rows

_LARGEST = 1.99 * 2.0**127
"""What is below stays below 2^128 when every rounding has gone up."""
_ONE_SIGN = 1 - 2.0**-30
"""|Σ x| is at least this times Σ |x| if all terms have one sign, in spite of float64's roundings."""


@dataclass(frozen=True, kw_only=True)
class Float32Domain:
    """What decides which values of a case are excused."""

    case: MergeCase
    """The case."""
    rows: Rows
    """Its statistics."""
    vanished: Tensor
    """[T, H, S] bool: live segments whose weight may be flushed to 0; that is paid for."""
    unit: float
    """Unit roundoff of the kernel's arithmetic."""
    smallest: float
    """Its smallest normal number."""

    def excuses(
        self, *, size: Tensor, y: Tensor, error: Tensor, lost_mass: Tensor
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Return the masks [T, H, R] of outputs and [T, H] of lses that are excused, by reason.

        `size` Σ|o_i|·w_i / D, |y| and the second term of the output [T, H, R]; Σ s_i / D of vanished
        segments [T, H].
        """
        nan, infinite, faint = self._special()
        number = ~nan & ~infinite
        rows, den = self.rows, self.rows.den[..., None]
        heavy = rows.den >= _LARGEST
        # A lost share of the mass is paid for where it is small: the formula is of first order in it.
        light = self.smallest * lost_mass > self.unit
        least = torch.where(rows.live & ~self.vanished, rows.mass * rows.weight, torch.inf).amin(-1)
        small_mass = self._small(rows.den, rows.den) & (least < 2 * self.smallest)
        small = small_mass[..., None] | self._small_products(size * den, y >= size * _ONE_SIGN)
        small |= (size > 0) & (size < self.smallest * 2**25) & (y < error + 2 * self.smallest)
        nowhere = torch.zeros_like(heavy)
        return {
            "sums overflow float32": (~nan & (heavy[..., None] | (size * den >= _LARGEST)), heavy),
            "results overflow float32": (number & (y + error >= _LARGEST), nowhere),
            "weights that vanish in float32 carry mass": (number & light[..., None], light),
            "products, sums or results are subnormal in float32": (number & small, small_mass),
            "a weight that vanishes in float32 meets an infinity": (infinite & faint, nowhere),
        }

    def _small(self, total: Tensor, size: Tensor) -> Tensor:
        return (total > 0) & (size < self.case.S * self.smallest * 2**25)

    def _small_products(self, size: Tensor, one_sign: Tensor) -> Tensor:
        """Return where a small sum [T, H, R] has a subnormal product, or may pass through a subnormal sum."""
        small = self._small(size, size)
        if not bool(small.any()):
            return small
        counted = self.rows.live & ~self.vanished
        product = self.case.segm_output.double().abs() * self.rows.weight[..., None]
        product = torch.where(counted[..., None] & (product > 0), product, torch.inf)
        return small & (~one_sign | (product.amin(2) < 2 * self.smallest))

    def _special(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return where the exact output is NaN, where infinite, and where an infinity has a vanished weight.

        [T, H, R] each, in rows that are not NaN.
        """
        o, live = self.case.segm_output, self.rows.live[..., None]
        if bool(o.isfinite().all()):
            nowhere = torch.zeros_like(o[:, :, 0], dtype=torch.bool)
            return nowhere, nowhere, nowhere
        rising, falling = ((live & (o == sign * torch.inf)).any(2) for sign in (1, -1))
        nan = (live & o.isnan()).any(2) | (rising & falling)
        faint = (self.vanished[..., None] & o.isinf()).any(2)
        return nan, (rising | falling) & ~nan, faint
