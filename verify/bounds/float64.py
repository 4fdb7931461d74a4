"""The bounds of a merge that computes in float64 and rounds once.

    |error| ≤ ulp · ulp(exact) + 2^u · Σ loss_i · |c_i| · base^(m_i) / den
    loss_i  = per_segment · S + constant + per_exponent · |m_i − M|

over the live segments, M their largest maximum, c_i = o_i[r] for an output and s_i for the lse. The
derivation stands in mla_merge/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.bounds.bound import Bounds, SecondTerms
from verify.bounds.rows import Rows, finite_partials, rows_of
from verify.oracle.target import Base


@dataclass(frozen=True, kw_only=True)
class Float64Bounds(Bounds):
    """The numbers of a table [default]; they speak of every value."""

    unit_roundoff_log2: int
    """u of the second term: log2 of the unit roundoff of the kernel's arithmetic."""
    per_segment: float
    """Weight of S in the second term."""
    constant: float
    """Roundings that do not grow with the input."""
    per_exponent: float
    """Weight of |m_i − M|: the rounding of the exponent's difference."""

    def second_terms(self, case: MergeCase) -> SecondTerms:
        """Evaluate the formula."""
        rows = rows_of(case, self.base)
        loss = self.per_segment * case.S + self.constant + self.per_exponent * rows.gap
        share = 2.0**self.unit_roundoff_log2 * loss * rows.weight / rows.den[..., None]
        output = torch.einsum("ths,thsr->thr", share, finite_partials(case).abs())
        lse = (share * rows.mass).sum(-1)
        return SecondTerms(output=output, lse=torch.where(_flat(case, rows, self.base), 0.0, lse))


def _flat(case: MergeCase, rows: Rows, base: Base) -> Tensor:
    # One live segment whose m is an integer or whose s is a power of two: nothing is lost on the way to
    # the logarithm, so no second term is granted for it. In base e that is so where there is no logarithm.
    m, s = case.segm_max, case.segm_expsum.double()
    simple = (m == m.round()) | (torch.frexp(s).mantissa == 0.5) if base is Base.TWO else s == 1.0
    return (rows.live.sum(-1) == 1) & (rows.live & simple).any(-1)
