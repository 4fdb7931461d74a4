"""Sound kernels in torch, each by another algorithm: whoever rejects one of them raises a false alarm."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from fuzz.formats import Format
from verify.museum.exhibit import Sound
from verify.museum.honest import Merge


class InOrder(Merge):
    """Adds the segments in the order of their index."""


class Backward(Merge):
    """Adds the segments from the last to the first."""

    def order(self, segments: int) -> Iterable[int]:
        return reversed(range(segments))


class Pairwise(Merge):
    """Adds the segments as a balanced tree."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        terms = weight[..., None] * torch.cat((o.double(), s[..., None]), -1)
        while terms.shape[2] > 1:
            half = (terms.shape[2] + 1) // 2
            upper = torch.zeros_like(terms[:, :, :half])
            upper[:, :, : terms.shape[2] - half] = terms[:, :, half:]
            terms = terms[:, :, :half] + upper
        return terms[:, :, 0, :-1], terms[:, :, 0, -1]


class Ascending(Merge):
    """Adds the terms of each column from the smallest magnitude to the largest."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        terms = weight[..., None] * torch.cat((o.double(), s[..., None]), -1)
        terms = terms.gather(2, terms.abs().argsort(dim=2, stable=True))
        total = torch.zeros_like(terms[:, :, 0])
        for i in range(terms.shape[2]):
            total = total + terms[:, :, i]
        return total[..., :-1], total[..., -1]


class Streaming(Merge):
    """Reads every segment once and rescales what it has by a whole power of two when the maximum grows."""

    def gap(self, m: Tensor, top: Tensor) -> Tensor:
        # Relative to the running maximum, rounded up to an integer so that rescaling rounds nothing.
        live = m <= top[..., None]
        running = torch.where(live, m, -torch.inf).ceil().cummax(-1).values
        self._running = running
        return torch.where(live, m, -torch.inf) - running

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = torch.zeros_like(o[:, :, 0], dtype=torch.float64), torch.zeros_like(weight[..., 0])
        level = self._running[..., 0]
        for i in range(weight.shape[-1]):
            down = self.weight((level - self._running[..., i]).nan_to_num(0.0, 0.0, -torch.inf))
            num = num * down[..., None] + weight[..., i, None] * o[:, :, i].double()
            den = den * down + weight[..., i] * s[..., i]
            level = self._running[..., i]
        return num, den

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return super().logarithm(top.ceil(), den)


class Halves(Merge):
    """Merges the two halves of the segments apart, and then the two results."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        half = (weight.shape[-1] + 1) // 2
        first = super().sums(weight[..., :half], o[:, :, :half], s[..., :half])
        if half == weight.shape[-1]:
            return first
        second = super().sums(weight[..., half:], o[:, :, half:], s[..., half:])
        return first[0] + second[0], first[1] + second[1]


class Prescaled(Merge):
    """Normalises the weights first, so that the weighted values add up to the output."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        _, self._den = super().sums(weight, o[..., :0], s)
        return super().sums(weight / self._den[..., None], o, s)[0], self._den

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return num


class DoubleDouble(Merge):
    """Adds in pairs of float64, whose second holds what the first has lost."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        terms = weight[..., None] * torch.cat((o.double(), s[..., None]), -1)
        total = lost = torch.zeros_like(terms[:, :, 0])
        for i in range(terms.shape[2]):
            term = terms[:, :, i]
            new = total + term
            back = new - total
            lost = lost + ((total - (new - back)) + (term - back))
            total = new
        exact = total + lost
        return exact[..., :-1], exact[..., -1]


class TiesAwayFromZero(Merge):
    """Rounds halves away from zero, which is no further from the exact value than to even."""

    def nearest(self, quanta: Tensor) -> Tensor:
        return (quanta.abs() + 0.5).floor().copysign(quanta)


class Float32(Merge):
    """Computes in float32 throughout, which keeps the bounds of a float32 kernel."""

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return m, s

    def weight(self, gap: Tensor) -> Tensor:
        return torch.where(gap < -126, 0.0, super().weight(gap).float())

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = torch.zeros_like(o[:, :, 0]), torch.zeros_like(weight[..., 0])
        for i in range(weight.shape[-1]):
            num = num + weight[..., i, None] * o[:, :, i]
            den = den + weight[..., i] * s[..., i]
        return num, den

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return (top + den.log2()) * math.log(2)

    def rounded(self, y: Tensor, fmt: Format) -> Tensor:
        return super().rounded(y.double(), fmt)


in_order = Sound(name="in_order", merge=InOrder(), exact=True)
backward = Sound(name="backward", merge=Backward(), exact=True)
pairwise = Sound(name="pairwise", merge=Pairwise(), exact=True)
ascending = Sound(name="ascending", merge=Ascending(), exact=True)
streaming = Sound(name="streaming", merge=Streaming(), exact=True)
halves = Sound(name="halves", merge=Halves(), exact=True)
prescaled = Sound(name="prescaled", merge=Prescaled(), exact=True)
double_double = Sound(name="double_double", merge=DoubleDouble(), exact=True)
ties_away_from_zero = Sound(name="ties_away_from_zero", merge=TiesAwayFromZero(), exact=True)
float32 = Sound(name="float32", merge=Float32(), bounds="fp32")
