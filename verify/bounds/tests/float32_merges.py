"""Honest merges that compute in float32, each in its own order and as roughly as a backend may."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from fuzz.bits import exponent_of, power_of_two
from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.observed import Returned

SMALLEST = 2.0**-126

Sum = Callable[[Tensor], Tensor]
"""Sum over the last dimension."""


def forward(terms: Tensor) -> Tensor:
    total = torch.zeros_like(terms[..., 0])
    for i in range(terms.shape[-1]):
        total = total + terms[..., i]
    return total


def backward(terms: Tensor) -> Tensor:
    return forward(terms.flip(-1))


def pairwise(terms: Tensor) -> Tensor:
    while terms.shape[-1] > 1:
        odd = terms[..., -1:] if terms.shape[-1] % 2 else terms[..., :0]
        terms = torch.cat((terms[..., 0:-1:2] + terms[..., 1::2], odd), -1)
    return terms[..., 0]


def descending(terms: Tensor) -> Tensor:
    return forward(terms.gather(-1, terms.abs().argsort(-1, descending=True)))


def library(terms: Tensor) -> Tensor:
    return terms.sum(-1)


def off_by(exact: Tensor, ulps: Tensor | float) -> Tensor:
    """Return float64 values moved by some float32 ulps and rounded to float32: off by half an ulp more."""
    unit = power_of_two(exponent_of(exact).clamp(-126, 127) - 23)
    moved = exact + ulps * unit
    # Nothing changes its sign, and what is 0 or not finite stays.
    return torch.where((exact * moved > 0) & exact.isfinite(), moved, exact).float()


class Float32Merge:
    """The plain formula in float32: rows and segments without mass by selection, all else by arithmetic."""

    def __init__(
        self, total: Sum = forward, *, flush: bool = False, rough: int = 0, natural: bool = False
    ) -> None:
        """Add with `total`; flush subnormals; `rough` ±1: exp2 and / off by 2.05 ulp and log by 1."""
        self.total, self.flush, self.rough, self.natural = total, flush, rough, natural

    def __call__(self, case: MergeCase) -> Returned:
        m, s, o = (self.kept(x) for x in (case.segm_max, case.segm_expsum, case.segm_output))
        written = torch.arange(case.S) < case.active[:, None, None]
        # Which segments are live is a matter of the bits, before anything is flushed.
        live = written & (m != -torch.inf) & ~((case.segm_expsum == 0) & ~m.isnan())
        bad = (
            live & (m.isnan() | s.isnan() | (m == torch.inf) | (case.segm_expsum < 0) | (s == torch.inf))
        ).any(-1)
        top = torch.where(live, m, -torch.inf).amax(-1)
        weight = torch.where(live, self.exp2(self.kept(m - top[..., None])), 0.0)
        den = self.sum(weight * torch.where(live, s, 0.0))
        o = torch.where(live[..., None], o, 0.0).transpose(2, 3)
        y = self.divided(self.sum(weight[..., None, :] * o), den[..., None])
        lse = self.kept(self.logarithm(top, den))
        none = ~live.any(-1)
        y = torch.where(bad[..., None], torch.nan, torch.where(none[..., None], 0.0, y))
        lse = torch.where(bad, torch.nan, torch.where(none, -torch.inf, lse))
        return returned(rounded(y, FORMATS[case.out_dtype]), lse)

    def kept(self, x: Tensor) -> Tensor:
        """Flush subnormals if that is what is wanted."""
        return torch.where(x.abs() < SMALLEST, 0.0, x) if self.flush else x

    def sum(self, terms: Tensor) -> Tensor:
        return self.kept(self.total(self.kept(terms)))

    def exp2(self, x: Tensor) -> Tensor:
        # A whole power is exact on every backend: were 2^-126 not, it would be flushed.
        rough = torch.where(x == x.round(), 0.0, 1.55 * self.rough)
        return self.kept(off_by(x.double().exp2(), rough) if self.rough else x.exp2())

    def divided(self, num: Tensor, den: Tensor) -> Tensor:
        exact = num.double() / den.double()
        return self.kept(off_by(exact, 1.55 * self.rough) if self.rough else num / den)

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        if self.natural:
            return top * math.log(2) + self.log(den, torch.log)
        return (top + self.log(den, torch.log2)) * math.log(2)

    def log(self, den: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        return off_by(function(den.double()), 0.5 * self.rough) if self.rough else function(den)


def rounded(y: Tensor, fmt: Format) -> Tensor:
    """Round float32 to a format once: a cast is right wherever it does not overflow."""
    if fmt.saturates:
        y = y.clamp(-fmt.max_value, fmt.max_value)
    return y.to(fmt.torch_dtype)


def returned(output: Tensor, lse: Tensor) -> Returned:
    return Returned(
        output=output,
        lse=lse,
        unwritten_output=torch.zeros_like(output, dtype=torch.bool),
        unwritten_lse=torch.zeros_like(lse, dtype=torch.bool),
    )


HONEST = {
    "forward": Float32Merge(),
    "backward, flushing": Float32Merge(backward, flush=True),
    "pairwise, natural logarithm": Float32Merge(pairwise, natural=True),
    "library": Float32Merge(library),
    "descending, rough upwards": Float32Merge(descending, rough=1),
    "forward, rough downwards, flushing": Float32Merge(rough=-1, flush=True),
    "backward, rough downwards, natural logarithm": Float32Merge(backward, rough=-1, natural=True),
}
