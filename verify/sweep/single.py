"""Probes of one live segment: y = o/s and lse = ln s + m·ln 2."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.bits import Stream, bounded, power_of_two
from fuzz.formats import Format
from verify.oracle.values import ExactValues
from verify.sweep.enclosures import log_of_mass
from verify.sweep.points import INFINITE, SIGN, Ranges, floats, inside, midpoints, subset
from verify.sweep.probe import Probe, Rows, one_segment
from verify.sweep.settle import quotient, rounded_of

POSITIVE: Ranges = ((1, INFINITE),)
FINITE: Ranges = ((0, INFINITE), (SIGN, SIGN + INFINITE))
EVERY: Ranges = ((0, 1 << 32),)

_RANK = 512  # of production


class _OverFloats(Probe):
    """A probe whose points are codes of float32s."""

    def subset(self, seed: int, fmt: Format) -> Tensor:
        return subset(self.ranges, seed)


class _Lse(Probe):
    """A probe of the lse of one live segment."""

    result = "lse"

    def exact(self, points: Tensor, fmt: Format) -> tuple[ExactValues, Tensor]:
        rows = self.rows(points)
        return rounded_of(log_of_mass(rows.m[:, 0], rows.s[:, 0]), fmt)


class _Quotient(Probe):
    """A probe of the output of one live segment."""

    result = "output"

    def exact(self, points: Tensor, fmt: Format) -> tuple[ExactValues, Tensor]:
        rows = self.rows(points)
        return quotient(rows.o[:, 0], rows.s[:, 0], fmt), torch.zeros_like(points, dtype=torch.bool)


class Log(_OverFloats, _Lse):
    """The logarithm."""

    name = "log"
    sentence = "one segment, m = 0, s every positive float: lse = ln s"
    ranges = POSITIVE

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these s."""
        s = floats(points)
        return one_segment(torch.zeros_like(s), s, s)


class Scale(_OverFloats, _Lse):
    """The conversion to natural logarithms."""

    name = "scale"
    sentence = "one segment, s = 1, m every finite float: lse = m·ln 2"
    ranges = FINITE

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these m."""
        m = floats(points)
        return one_segment(m, torch.ones_like(m), torch.ones_like(m))


class Reciprocal(_OverFloats, _Quotient):
    """The division by every mass."""

    name = "divide-by"
    sentence = "one segment, m = 0, o = 1, s every positive float: y = 1/s"
    ranges = POSITIVE

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these s."""
        s = floats(points)
        return one_segment(torch.zeros_like(s), s, torch.ones_like(s))


class Third(_OverFloats, _Quotient):
    """The division of every partial."""

    name = "divide"
    sentence = "one segment, m = 0, s = 3, o every float: y = o/3"
    ranges = EVERY
    rank = _RANK

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these o."""
        o = floats(points)
        return one_segment(torch.zeros_like(o), torch.full_like(o, 3.0), o)


class Cast(_OverFloats, _Quotient):
    """The store to an output format."""

    name = "cast"
    sentence = "one segment, m = 0, s = 1, o every float: y = o, every tie and every overflow included"
    ranges = EVERY
    rank = _RANK

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these o."""
        o = floats(points)
        return one_segment(torch.zeros_like(o), torch.ones_like(o), o)

    def subset(self, seed: int, fmt: Format) -> Tensor:
        """Add every tie of the format to the usual points."""
        return inside(torch.cat([subset(self.ranges, seed), midpoints(fmt)]), self.ranges)


class Cancel(_Lse):
    """Masses near 1 made of a large maximum and a small sum.

    Point K·2^24 + w stands for k = 125 − K and the s that is w − 2^23 floats from 2^-k: the 2^24 floats from
    2^-(k+1) up to 2^-(k−1), K from 0 to 252.
    """

    name = "cancel"
    sentence = "one segment, m = k from -127 to 125, s the 2^24 floats about 2^-k: lse = ln(1 ± ε)"
    ranges = ((0, 253 << 24),)
    cell_bits = 20

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of these k and floats about 2^-k."""
        number = points >> 24
        s = floats((number << 23) + (1 << 23) + (points & ((1 << 24) - 1)))
        m = (125 - number).double() + self.fraction(number)
        return one_segment(m.float(), s, s)

    def fraction(self, number: Tensor) -> Tensor:
        """Return what is added to each k, in float64."""
        return torch.zeros_like(number, dtype=torch.float64)

    def line(self, number: int) -> str:
        """Name the line of one k."""
        return f"k={125 - number}"

    def subset(self, seed: int, fmt: Format) -> Tensor:
        """Return, for every k, points about those where the mass is 1 and about powers of two from there."""
        number = torch.arange(253)
        c = torch.exp2(-self.fraction(number))
        middle = torch.where(c < 1, (c - 1) * 2.0**24, (c - 1) * 2.0**23).round().to(torch.int64) + (1 << 23)
        away = ((1 << torch.arange(23))[:, None] + torch.arange(-2, 3)).flatten()
        near = torch.cat([torch.arange(-32, 33), away, -away])
        drawn = bounded(Stream(seed=seed).words(self.name, 253, 64), 1 << 24)
        ends = torch.tensor([0, 1, (1 << 24) - 2, (1 << 24) - 1]).expand(253, 4)
        w = torch.cat([middle[:, None] + near, drawn, ends], 1).clamp(0, (1 << 24) - 1)
        return inside(((number[:, None] << 24) + w).flatten(), self.ranges)


class CancelBetween(Cancel):
    """The same with a maximum that is no integer, so that the mass is 1 at no float."""

    name = "cancel-between"
    sentence = "the same with m = k ± 2^-1 … k ± 2^-17, in turn"

    def fraction(self, number: Tensor) -> Tensor:
        """Return a power of two for each k, so small that k and it are a float32 together."""
        sign = 1 - 2 * (number // 17 % 2)
        return sign * power_of_two(-1 - number % 17)
