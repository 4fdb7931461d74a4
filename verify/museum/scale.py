"""Faults of base and scale: of the lse, of the weights, and of the quotient."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class LseInBaseTwo(Merge):
    """Returns M + log2 D: the lse in base two."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return top + den.log2()


class OnlyLogConverted(Merge):
    """Returns M + ln D: the maximum stays in base two."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return top + den.log()


class OnlyMaxConverted(Merge):
    """Returns M·ln 2 + log2 D: the logarithm stays in base two."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return top * math.log(2) + den.log2()


class NaturalWeights(Merge):
    """Weighs by e^(m − M), as if the maxima were natural."""

    def weight(self, gap: Tensor) -> Tensor:
        return gap.exp()


class Ln2InSevenDigits(Merge):
    """Converts the lse by 0.6931472, which is ln 2 to seven digits."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return super().logarithm(top, den) / math.log(2) * 0.6931472


class MaximumLeftOut(Merge):
    """Returns ln D for the lse: the sums are relative to a maximum that is never added back."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return super().logarithm(torch.zeros_like(top), den)


class MassLeftOut(Merge):
    """Divides by the sum of the weights alone, as if every partial had been normalised already."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return super().sums(weight, o, torch.ones_like(s))


class OneSegmentCopied(Merge):
    """Copies the partial of a row with one live segment, without dividing it by its mass."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        alone = (active == 1)[:, None] & (s[..., 0] > 0) & (m[..., 0] > -torch.inf)
        return torch.where(alone[..., None], o[:, :, 0].double(), y), lse


class EpsilonInTheDenominator(Merge):
    """Adds 1e-10 to the mass, lest it be zero."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return num / (den[..., None] + 1e-10)


class Biased(Merge):
    """Multiplies every output by 1 + 2^-20."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return super().quotient(num, den) * (1 + 2.0**-20)


class Zeroed(Merge):
    """Returns an output of zeros."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return torch.zeros_like(num)


class SignFlipped(Merge):
    """Returns the negated output."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return -super().quotient(num, den)


_ANY = ("odd_shapes", "producer")

lse_in_base_two = Exhibit(
    name="lse_in_base_two",
    merge=LseInBaseTwo(),
    wing=Wing.SCALE,
    detectors=("oracle", "law shift"),
    families=_ANY,
    thread="vllm#47079",
)
only_log_converted = Exhibit(
    name="only_log_converted",
    merge=OnlyLogConverted(),
    wing=Wing.SCALE,
    detectors=("oracle", "law shift"),
    families=_ANY,
    thread="vllm#52796",
)
only_max_converted = Exhibit(
    name="only_max_converted",
    merge=OnlyMaxConverted(),
    wing=Wing.SCALE,
    detectors=("oracle", "law mass"),
    families=_ANY,
    thread="sglang#33064",
)
natural_weights = Exhibit(
    name="natural_weights",
    merge=NaturalWeights(),
    wing=Wing.SCALE,
    detectors=("oracle",),
    families=_ANY,
    thread="sglang#35045",
)
ln2_in_seven_digits = Exhibit(
    name="ln2_in_seven_digits",
    merge=Ln2InSevenDigits(),
    wing=Wing.SCALE,
    detectors=("oracle", "law shift"),
    families=_ANY,
)
maximum_left_out = Exhibit(
    name="maximum_left_out",
    merge=MaximumLeftOut(),
    wing=Wing.SCALE,
    detectors=("oracle", "law shift"),
    families=_ANY,
    thread="flashinfer#4485",
)
mass_left_out = Exhibit(
    name="mass_left_out",
    merge=MassLeftOut(),
    wing=Wing.SCALE,
    detectors=("oracle", "law constant", "law hull", "law mass", "law single"),
    families=_ANY,
)
one_segment_copied = Exhibit(
    name="one_segment_copied",
    merge=OneSegmentCopied(),
    wing=Wing.SCALE,
    detectors=("oracle", "law single", "law constant", "law hull", "law mass", "law empties"),
    families=("seq_lens", *_ANY),
)
epsilon_in_the_denominator = Exhibit(
    name="epsilon_in_the_denominator",
    merge=EpsilonInTheDenominator(),
    wing=Wing.SCALE,
    detectors=("oracle", "law mass", "law constant", "law hull", "law single"),
    families=("subnormals", "bit_patterns", "constant"),
    thread="vllm#39148",
)
biased = Exhibit(
    name="biased",
    merge=Biased(),
    wing=Wing.SCALE,
    detectors=("oracle", "law constant", "law hull", "law single"),
    families=_ANY,
    dtypes=("float32",),
)
zeroed = Exhibit(
    name="zeroed",
    merge=Zeroed(),
    wing=Wing.SCALE,
    detectors=("oracle", "law constant", "law hull", "law single"),
    families=_ANY,
)
sign_flipped = Exhibit(
    name="sign_flipped",
    merge=SignFlipped(),
    wing=Wing.SCALE,
    detectors=("oracle", "law constant", "law hull", "law single"),
    families=_ANY,
)
