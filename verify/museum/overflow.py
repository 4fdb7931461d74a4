"""Faults of range: sums and weights that overflow or underflow on the way to an ordinary result."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class UnscaledFloat32Sums(Merge):
    """Lets numerator and denominator overflow as unscaled sums in float32 do."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = super().sums(weight, o, s)
        return _overflowing(num), _overflowing(den)


class MaximumNotSubtracted(Merge):
    """Weighs by 2^m as float32 holds it: zero or infinite where m is far from 0."""

    def top(self, written: Tensor, live: Tensor, m: Tensor) -> Tensor:
        return torch.zeros_like(super().top(written, live, m))

    def weight(self, gap: Tensor) -> Tensor:
        return torch.where(gap >= 128, torch.inf, torch.where(gap < -149, 0.0, super().weight(gap)))


class FlushedWeights(Merge):
    """Flushes the weights that float32 could not hold as normal numbers, however large the values are."""

    def weight(self, gap: Tensor) -> Tensor:
        return torch.where(gap < -126, 0.0, super().weight(gap))


class WeightsCutAt24Bits(Merge):
    """Skips segments whose maximum is 24 or more below the largest, as if they could not be seen."""

    def weight(self, gap: Tensor) -> Tensor:
        return torch.where(gap <= -24, 0.0, super().weight(gap))


class GapsClamped(Merge):
    """Clamps m − M at −64, so that no weight is ever below 2^-64."""

    def gap(self, m: Tensor, top: Tensor) -> Tensor:
        return super().gap(m, top).clamp(min=-64)


class MassFloored(Merge):
    """Divides by a mass of at least 1e-20."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return super().quotient(num, den.clamp(min=1e-20))


class SubnormalMassFlushed(Merge):
    """Reads subnormal masses as zero, so that their segments are empty."""

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return super().statistics(m, _flushed(s))


class SubnormalValuesFlushed(Merge):
    """Reads subnormal values as zero."""

    def values(self, segm_output: Tensor, tokens: slice) -> Tensor:
        return _flushed(super().values(segm_output, tokens))


class ProductsOverflow(Merge):
    """Multiplies the numerator by 2^16 and the mass by 2^16 in float32 range, for accuracy's sake."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = super().sums(weight, o, s)
        return _overflowing(num * 2.0**16), _overflowing(den * 2.0**16)


def _overflowing(x: Tensor) -> Tensor:
    return torch.where(x.abs() >= 2.0**128, x * torch.inf, x)


def _flushed(x: Tensor) -> Tensor:
    return torch.where(x.abs() < 2.0**-126, 0.0, x)


_FAR = ("huge_ranges", "bit_patterns")

unscaled_float32_sums = Exhibit(
    name="unscaled_float32_sums",
    merge=UnscaledFloat32Sums(),
    wing=Wing.RANGE,
    detectors=("oracle", "law hull", "law constant", "law scale", "law mass"),
    families=("overflow",),
)
maximum_not_subtracted = Exhibit(
    name="maximum_not_subtracted",
    merge=MaximumNotSubtracted(),
    wing=Wing.RANGE,
    detectors=("oracle", "law shift"),
    families=_FAR,
)
flushed_weights = Exhibit(
    name="flushed_weights",
    merge=FlushedWeights(),
    wing=Wing.RANGE,
    detectors=("oracle",),
    families=_FAR,
)
weights_cut_at_24_bits = Exhibit(
    name="weights_cut_at_24_bits",
    merge=WeightsCutAt24Bits(),
    wing=Wing.RANGE,
    detectors=("oracle",),
    families=_FAR,
)
gaps_clamped = Exhibit(
    name="gaps_clamped",
    merge=GapsClamped(),
    wing=Wing.RANGE,
    detectors=("oracle",),
    families=_FAR,
)
mass_floored = Exhibit(
    name="mass_floored",
    merge=MassFloored(),
    wing=Wing.RANGE,
    detectors=("oracle", "law mass", "law constant", "law hull", "law single"),
    families=("subnormals", "bit_patterns", "unit_mass"),
    thread="vllm#39148",
)
subnormal_mass_flushed = Exhibit(
    name="subnormal_mass_flushed",
    merge=SubnormalMassFlushed(),
    wing=Wing.RANGE,
    detectors=("oracle", "law mass", "law single"),
    families=("subnormals", "bit_patterns"),
)
subnormal_values_flushed = Exhibit(
    name="subnormal_values_flushed",
    merge=SubnormalValuesFlushed(),
    wing=Wing.RANGE,
    detectors=("oracle", "law scale", "law hull", "law single"),
    families=("subnormals", "bit_patterns"),
)
products_overflow = Exhibit(
    name="products_overflow",
    merge=ProductsOverflow(),
    wing=Wing.RANGE,
    detectors=("oracle", "law hull", "law constant", "law scale", "law mass", "law single"),
    families=("overflow",),
)
