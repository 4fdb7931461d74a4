"""The bounds of a merge that computes in float32, and the values of which they speak.

With w_i = 2^(m_i − M), D = Σ s_i·w_i, u = 2^-24, h = ln 2 · |m_i − M|, over the live segments:

    output  u · [Σ (S + a + h)·|o_i|·w_i + |y|·Σ (S + b + h)·s_i·w_i] / D
            + 2^-126 · Σ_{w_i < 2^-126} (|o_i| + |y|·s_i) / D
    lse     u · [Σ (S + a + h)·s_i·w_i / D + 2·|M|·ln 2 + c·|ln D|] + 2^-126 · Σ_{w_i < 2^-126} s_i / D

beside half an ulp; a, b and c follow from the errors of exp2, division and log2 on the backend. The
README derives the formula and the domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.bounds.bound import Bounds, SecondTerms
from verify.bounds.domain import Float32Domain
from verify.bounds.rows import finite_partials, rows_of
from verify.oracle.target import Base

_LN2 = math.log(2.0)
# Units of relative error that a weight gains with |m − M|: the difference is rounded; where e^x is computed
# as 2^(x·log2 e), as GPUs do, so is the product, and the constant is off by a quarter of a unit.
_PER_GAP = {Base.TWO: _LN2, Base.E: 3.0}
_NATS = {Base.TWO: _LN2, Base.E: 1.0}


@dataclass(frozen=True, kw_only=True)
class Backend:
    """How far a backend's float32 functions are off, in ulp."""

    name: str
    """`cuda`, `hip` or `cpu`."""
    exp2: float
    """Of the exponential."""
    log2: float
    """Of the logarithm, of base 2 or natural."""
    division: float
    """Of the quotient."""


@dataclass(frozen=True, kw_only=True)
class Float32Bounds(Bounds):
    """The numbers of a table [fp32]."""

    at_result: ClassVar[bool] = True

    unit_roundoff_log2: int
    """log2 of the unit roundoff of the kernel's arithmetic."""
    smallest_log2: int
    """log2 of the smallest normal number of the kernel's arithmetic."""
    per_segment: float
    """Weight of S: the roundings of one segment's product and addition."""
    reserve: float
    """Units for what is flushed and for what is of second order; the domain relies on 3."""
    per_maximum: float
    """Weight of |M|·ln 2 in the lse."""
    backends: tuple[Backend, ...]
    """The functions of every backend."""

    def on(self, device: torch.device) -> Backend:
        """Return the backend of a device."""
        name = device.type if device.type != "cuda" else "hip" if torch.version.hip else "cuda"
        return next(backend for backend in self.backends if backend.name == name)

    def numerator(self, backend: Backend) -> int:
        """Return a: an ulp is at most 2 units relative."""
        return math.ceil(self.reserve + 2 * backend.exp2)

    def denominator(self, backend: Backend) -> int:
        """Return b, which pays for the division as well."""
        return math.ceil(self.reserve + 2 * backend.exp2 + 2 * backend.division)

    def logarithm(self, backend: Backend) -> int:
        """Return c: the logarithm's own error, the sum with M, and the rounding of ln 2."""
        return math.ceil(2 * backend.log2 + 2)

    def second_terms(self, case: MergeCase) -> SecondTerms:
        """Evaluate the formula where it holds."""
        backend = self.on(case.segm_max.device)
        rows, partials = rows_of(case, self.base), finite_partials(case)
        unit, smallest = 2.0**self.unit_roundoff_log2, 2.0**self.smallest_log2
        inverse = 1 / rows.den[..., None]
        weight, mass = rows.weight * inverse, rows.mass * inverse
        vanished = rows.live & (rows.gap * (_NATS[self.base] / _LN2) > -self.smallest_log2)
        grown = self.per_segment * case.S + _PER_GAP[self.base] * rows.gap

        of_mass = [
            ((grown + extra) * rows.weight * mass).sum(-1)
            for extra in (self.numerator(backend), self.denominator(backend))
        ]
        lost_mass = torch.where(vanished, mass, 0.0).sum(-1)
        logarithms = (
            self.per_maximum * _NATS[self.base] * rows.top.abs()
            + self.logarithm(backend) * rows.den.log().abs()
        )
        lse = unit * (of_mass[0] + logarithms) + smallest * lost_mass

        shares = torch.stack(((grown + self.numerator(backend)) * weight, vanished * inverse, weight), dim=-1)
        of_partials, lost, size = torch.einsum("thsk,thsr->kthr", shares, partials.abs())
        y = torch.einsum("ths,thsr->thr", weight, partials).abs()
        output = unit * (of_partials + y * of_mass[1][..., None]) + smallest * (
            lost + y * lost_mass[..., None]
        )
        domain = Float32Domain(case=case, rows=rows, vanished=vanished, unit=unit, smallest=smallest)
        excuses = domain.excuses(size=size, y=y, error=output, lost_mass=lost_mass)
        return _within(output, lse, excuses)


def _within(output: Tensor, lse: Tensor, excuses: dict[str, tuple[Tensor, Tensor]]) -> SecondTerms:
    counts = {}
    seen = torch.zeros_like(lse, dtype=torch.bool)
    for reason, (of_output, of_lse) in excuses.items():
        output = torch.where(of_output, torch.inf, output)
        lse = torch.where(of_lse, torch.inf, lse)
        rows = (of_output.any(-1) | of_lse) & ~seen
        seen |= rows
        if count := int(rows.sum()):
            counts[reason] = count
    return SecondTerms(output=output, lse=lse, out_of_domain=counts)
