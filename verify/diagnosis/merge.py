"""The merge in float64 with any of its steps replaced: what a hypothesis predicts is computed here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.bits import exponent_of, power_of_two
from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.oracle.target import Base
from verify.oracle.values import Exact
from verify.subjects.convention import Convention

_FLOAT32_SUMS = 2.0**-17
"""Relative error that a merge in float32 may make of its sums, of 128 segments and more."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a hypothesis says that a kernel returned; a result that it says nothing of is None."""

    output: Tensor | None = None
    """[T, H, R] float64, before or after it is rounded to the output's format."""
    lse: Tensor | None = None
    """[T, H] float64."""
    output_error: Tensor | float = 0.0
    """How far from that a kernel that works in float32 may be, beside a rounding."""
    lse_error: Tensor | float = 0.0
    """The same of the lse."""
    exact: bool = False
    """Whether it is to be met bit for bit: what is told apart is smaller than a rounding."""


def rounded(values: Tensor, fmt: Format) -> Tensor:
    """Round float64 to the precision of a format, ties to even, with exponents unbounded above."""
    scale = fmt.precision - 1 - exponent_of(values).clamp(min=fmt.emin)
    return torch.where(
        values.isfinite(), (values * power_of_two(scale)).round() * power_of_two(-scale), values
    )


def keep(value: Tensor) -> Tensor:
    """Return the value."""
    return value


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A case that failed, and the form in which the kernel was given it."""

    case: MergeCase
    """The case, recast."""
    convention: Convention
    """The kernel's."""
    exact: Exact
    """Its exact results."""

    @property
    def fmt(self) -> Format:
        """Format of the output."""
        return FORMATS[self.case.out_dtype]

    @property
    def massless(self) -> Tensor:
        """[T, H] bool: rows without a live segment."""
        return ~_live(self.case.segm_max, self.case.segm_expsum, self.case.active).any(-1)

    def predict(
        self,
        *,
        o: Tensor | None = None,
        m: Tensor | None = None,
        s: Tensor | None = None,
        active: Tensor | None = None,
        base: Base | None = None,
        weight: Callable[[Tensor], Tensor] = keep,
        numerator: Callable[[Tensor, Tensor], Tensor] = lambda w, s: w,
        denominator: Callable[[Tensor, Tensor], Tensor] = lambda w, s: w * s,
        log: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> Prediction:
        """Merge with some inputs or steps replaced; specials as the contract has them.

        `weight` changes base^(m − M); `numerator` and `denominator` give, of weights and masses [T, H, S],
        what partials are multiplied by and what is summed to the mass; `log` gives the lse of M, which is
        not converted, and ln(den).
        """
        case = self.case
        o = (case.segm_output if o is None else o).double()
        m = (case.segm_max if m is None else m).double()
        s = (case.segm_expsum if s is None else s).double()
        live = _live(m, s, case.active if active is None else active)
        broken = (live & (m.isnan() | s.isnan() | (m == torch.inf) | (s < 0) | (s == torch.inf))).any(-1)
        top = torch.where(live, m, -torch.inf).amax(-1)
        nats = math.log(2.0) if (base or self.convention.base) is Base.TWO else 1.0
        gap = torch.where(live, m - top[..., None], -torch.inf)
        w = weight(torch.exp2(gap * (nats / math.log(2.0))))
        s = torch.where(live, s, 0.0)
        kept = torch.where(live[..., None], o, 0.0)
        share = numerator(w, s)
        num = torch.einsum("ths,thsr->thr", share, kept.nan_to_num(0.0, 0.0, 0.0))
        size = torch.einsum("ths,thsr->thr", share.abs(), kept.nan_to_num(0.0, 0.0, 0.0).abs())
        den = denominator(w, s).sum(-1)
        y = _with_specials(num / den[..., None], kept)
        ln = den.log()
        lse = self.logarithm(top * nats + ln) if log is None else log(top, ln)
        none = ~live.any(-1)
        return Prediction(
            output=torch.where(broken[..., None], torch.nan, torch.where(none[..., None], 0.0, y)),
            lse=torch.where(broken, torch.nan, torch.where(none, -torch.inf, lse)),
            output_error=_FLOAT32_SUMS * (size / den.abs()[..., None]).nan_to_num(0.0, 0.0, 0.0),
            lse_error=_FLOAT32_SUMS
            * (1 + torch.where(live, m, 0.0).abs().amax(-1) * 2.0**-5).nan_to_num(0.0, 0.0),
        )

    def logarithm(self, nats: Tensor) -> Tensor:
        """Return a natural logarithm in the base of the convention's lse."""
        return nats / math.log(2.0) if self.convention.lse_base is Base.TWO else nats


def _live(m: Tensor, s: Tensor, active: Tensor) -> Tensor:
    written = torch.arange(m.shape[-1], device=m.device) < active.to(m.device)[:, None, None]
    return written & (m != -torch.inf) & ~((s == 0) & ~m.isnan())


def _with_specials(y: Tensor, kept: Tensor) -> Tensor:
    rising, falling = (kept == torch.inf).any(2), (kept == -torch.inf).any(2)
    y = torch.where(rising, torch.inf, torch.where(falling, -torch.inf, y))
    return torch.where(kept.isnan().any(2) | (rising & falling), torch.nan, y)
