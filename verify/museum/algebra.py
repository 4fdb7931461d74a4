"""Faults of a weighted mean: it is one no longer, and what every mean obeys tells that without its value."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class ValueScaleTwice(Merge):
    """Multiplies every mean by a scale of the values, 1.125, that the partials hold already."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return super().quotient(num, den) * 1.125


class FirstMassLeftOut(Merge):
    """Divides by the mass of all segments but the first, where there is any other mass."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = super().sums(weight, o, s)
        self._rest = den - weight[..., 0] * s[..., 0]
        return num, den

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return super().quotient(num, torch.where(self._rest > 0, self._rest, den))


class OneSegmentUndivided(Merge):
    """Hands the values of a row's only live segment through as if they were normalised."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        live = self.live(torch.arange(m.shape[-1], device=m.device) < active[:, None, None], m, s)
        only = torch.where(live[..., None], o.double(), 0.0).sum(2)
        return torch.where((live.sum(-1) == 1)[..., None] & ~y.isnan(), only, y), lse


class Bfloat16Values(Merge):
    """Cuts the values to the eight bits of bfloat16."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return super().sums(weight, (o.view(torch.int32) & ~0xFFFF).view(torch.float32), s)


_MEAN = ("oracle", "law constant", "law hull", "law single")
_ANY = ("producer", "constant", "ties")


def _exhibit(name: str, merge: Merge, first: str, *families: str) -> Exhibit:
    others = (detector for detector in _MEAN if detector != first)
    return Exhibit(
        name=name,
        merge=merge,
        wing=Wing.ALGEBRA,
        detectors=(first, *others),
        families=(*families, *_ANY),
    )


value_scale_twice = _exhibit("value_scale_twice", ValueScaleTwice(), "law hull")
first_mass_left_out = _exhibit("first_mass_left_out", FirstMassLeftOut(), "law constant")
one_segment_undivided = _exhibit("one_segment_undivided", OneSegmentUndivided(), "law single")
bfloat16_values = _exhibit("bfloat16_values", Bfloat16Values(), "law constant", "cancellation")
