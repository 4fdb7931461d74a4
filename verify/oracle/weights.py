"""The weights and denominators of a block of rows, as certified double-doubles."""

import math
from dataclasses import dataclass

import torch

from verify.oracle.doubled import Doubled, scale, split, total, two_sum
from verify.oracle.powers import exp, exp2
from verify.oracle.target import Base

SMALLEST = {Base.TWO: -700.0, Base.E: -485.0}
"""Weights below base^SMALLEST of the row's largest, about 2^-700, are dropped and paid for in the bounds."""

EPS_DEN = 2.0**-97
"""Relative error of den: powers 2^-102, products 4u², sums 3.1u²·log2 N, N below 2^32, dropped N·2^-423."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What the columns of n rows share. Dead segments, and all of rows that are special, weigh 0."""

    live: torch.Tensor
    """[n, S] bool: the live segments of rows that are not broken."""
    broken: torch.Tensor
    """[n] bool: rows that the statistics of a live segment make NaN."""
    mass: torch.Tensor
    """[n, S] float64: s where live, else 0."""
    maximum: torch.Tensor
    """[n] float64: the largest live m; 0 in special rows."""
    weight: Doubled
    """[n, S]: base^(m − maximum), each with a relative error below EPS_POWER."""
    pieces: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    """The weight as hi = pieces[0] + pieces[1] of 26 bits each, and lo = pieces[2]."""
    den: Doubled
    """[n]: Σ s·weight within EPS_DEN; 1 in special rows."""
    dropped: torch.Tensor
    """[n] float64: how many live segments were too light to weigh."""
    whole: torch.Tensor
    """[n, S] bool: m − maximum makes the weight exact: a whole number, or 0 where the base is e."""

    @property
    def massless(self) -> torch.Tensor:
        """[n] bool: rows with no live segment."""
        return ~self.live.any(-1) & ~self.broken


def weigh(m: torch.Tensor, s: torch.Tensor, active: torch.Tensor, base: Base = Base.TWO) -> Weights:
    """Return the weights of rows m, s [n, S] float32, of which the first `active` [n] segments count."""
    written = torch.arange(m.shape[1], device=m.device) < active[:, None]
    empty = (m == -math.inf) | ((s == 0) & ~m.isnan())
    live = written & ~empty
    broken = (live & (m.isnan() | s.isnan() | (m == math.inf) | (s < 0) | (s == math.inf))).any(-1)
    live &= ~broken[:, None]
    some = live.any(-1)
    m, s = (torch.where(live, x, 0).double() for x in (m, s))
    maximum = torch.where(some, torch.where(live, m, -math.inf).amax(-1), 0.0)
    hi, lo = two_sum(m, (-maximum)[:, None].expand_as(m))
    light = hi < SMALLEST[base]
    used = live & ~light
    hi, lo = torch.where(used, hi, 0.0), torch.where(used, lo, 0.0)
    weight = (exp2 if base is Base.TWO else exp)((hi, lo))
    weight = torch.where(used, weight[0], 0.0), torch.where(used, weight[1], 0.0)
    pieces = (*split(weight[0]), weight[1])
    den = total(scale(pieces, s))
    den = torch.where(some, den[0], 1.0), torch.where(some, den[1], 0.0)
    return Weights(
        live=live,
        broken=broken,
        mass=s,
        maximum=maximum,
        weight=weight,
        pieces=pieces,
        den=den,
        dropped=(live & light).sum(-1).double(),
        whole=used & (lo == 0) & (hi == (hi.round() if base is Base.TWO else 0)),
    )
