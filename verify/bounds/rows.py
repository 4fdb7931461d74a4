"""The rows of a case as every bound sees them: live segments, weights and mass, in float64."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.oracle.target import Base


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Statistics of every row; what a dead segment or a row without a finite answer holds is never seen."""

    live: Tensor
    """[T, H, S] bool: the live segments; none in rows that a live segment makes NaN."""
    gap: Tensor
    """[T, H, S] float64 |m_i − M|; 0 where not live."""
    weight: Tensor
    """[T, H, S] float64 base^(m_i − M); 0 where not live."""
    mass: Tensor
    """[T, H, S] float64 s_i; 0 where not live."""
    top: Tensor
    """[T, H] float64 M, the largest live maximum; 0 where nothing is live."""
    den: Tensor
    """[T, H] float64 Σ s_i · base^(m_i − M); 1 where nothing is live."""


def rows_of(case: MergeCase, base: Base = Base.TWO) -> Rows:
    """Return the statistics of a case whose maxima are exponents of `base`, on its device."""
    m, s = case.segm_max.double(), case.segm_expsum.double()
    active = torch.arange(case.S, device=m.device) < case.active.to(m.device)[:, None, None]
    live = active & (m != -torch.inf) & ~((s == 0) & ~m.isnan())
    broken = live & (m.isnan() | s.isnan() | (m == torch.inf) | (s < 0) | (s == torch.inf))
    live = live & ~broken.any(-1, keepdim=True)
    some = live.any(-1)
    top = torch.where(some, torch.where(live, m, -torch.inf).amax(-1), 0.0)
    gap = torch.where(live, (m - top[..., None]).abs(), 0.0)
    weight = torch.where(live, torch.exp2(-gap) if base is Base.TWO else torch.exp(-gap), 0.0)
    mass = torch.where(live, s, 0.0)
    den = torch.where(some, (mass * weight).sum(-1), 1.0)
    return Rows(live=live, gap=gap, weight=weight, mass=mass, top=top, den=den)


def finite_partials(case: MergeCase) -> Tensor:
    """Return o [T, H, S, R] in float64, with 0 for what is not finite."""
    return case.segm_output.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).double()
