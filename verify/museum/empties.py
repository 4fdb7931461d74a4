"""Faults about segments and rows without mass, and about the identities that stand for them."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge
from verify.museum.overflow import FlushedWeights


class NoGuard(Merge):
    """Never asks whether a row has any live segment, so that a row without mass is 0/0."""

    def massless(self, live: Tensor) -> Tensor:
        return torch.zeros_like(live[..., 0])


class ZeroTimesNan(Merge):
    """Multiplies the values of an empty segment by a weight of zero instead of leaving them out."""

    def kept(self, written: Tensor, live: Tensor, o: Tensor) -> Tensor:
        return torch.where(written[..., None], o, 0.0)


class TailTimesZero(Merge):
    """Reads the values of segments that were never written and gives them a weight of zero."""

    def kept(self, written: Tensor, live: Tensor, o: Tensor) -> Tensor:
        return torch.where(live[..., None] | ~written[..., None], o, 0.0)


class MasslessMaximum(FlushedWeights):
    """Takes the maximum over every written segment, massless ones included, and flushes far below it."""

    def top(self, written: Tensor, live: Tensor, m: Tensor) -> Tensor:
        return torch.where(written, m, -torch.inf).amax(-1)


class MaximumStartsAtZero(FlushedWeights):
    """Starts the running maximum at 0 instead of −inf, and flushes far below it."""

    def top(self, written: Tensor, live: Tensor, m: Tensor) -> Tensor:
        return super().top(written, live, m).clamp(min=0.0)


class FiniteSentinel(Merge):
    """Takes every maximum of −10000 or less as the sign of an empty segment."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) & ~(m <= -10000)


class MinusInfinityIsNoEmpty(Merge):
    """Tells an empty segment by its mass alone, so that a maximum of −inf with any mass counts."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return written & ~((s == 0) & ~m.isnan())


class NoMassIsNoEmpty(Merge):
    """Tells an empty segment by its maximum alone, so that values without mass are added."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return written & ~(m == -torch.inf)


class NegativeZeroIsMass(Merge):
    """Compares masses with +0 bit for bit, so that a segment of mass −0 counts."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) | (written & (s == 0) & s.signbit() & (m != -torch.inf))


class NanTripleSpoils(Merge):
    """Makes a row NaN for an empty segment that has NaN beside a maximum of −inf."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) | (written & s.isnan())


class MasslessLsePlusInfinity(Merge):
    """Returns +inf as the lse of a row without mass."""

    massless_lse = math.inf


class MasslessLseZero(Merge):
    """Returns 0 as the lse of a row without mass."""

    massless_lse = 0.0


class MasslessRowIsMean(Merge):
    """Returns the mean of the first segment's values for a row without mass, as a softmax of equals does."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        return torch.where((lse == -torch.inf)[..., None], o.double().mean(2), y), lse


_EMPTY = ("oracle", "law empties")
_FAMILIES = ("empties", "neg_inf")

no_guard = Exhibit(
    name="no_guard",
    merge=NoGuard(),
    wing=Wing.EMPTIES,
    detectors=("oracle",),
    families=_FAMILIES,
    thread="flashinfer#4051",
)
zero_times_nan = Exhibit(
    name="zero_times_nan",
    merge=ZeroTimesNan(),
    wing=Wing.EMPTIES,
    detectors=_EMPTY,
    families=_FAMILIES,
    thread="aiter#4420",
)
tail_times_zero = Exhibit(
    name="tail_times_zero",
    merge=TailTimesZero(),
    wing=Wing.EMPTIES,
    detectors=("oracle", "law tail"),
    families=("poisoned_tail", "empties"),
    thread="aiter#4711",
)
massless_maximum = Exhibit(
    name="massless_maximum",
    merge=MasslessMaximum(),
    wing=Wing.EMPTIES,
    detectors=_EMPTY,
    families=_FAMILIES,
)
maximum_starts_at_zero = Exhibit(
    name="maximum_starts_at_zero",
    merge=MaximumStartsAtZero(),
    wing=Wing.EMPTIES,
    detectors=("oracle", "law shift"),
    families=("huge_ranges", "bit_patterns"),
    thread="vllm#38416",
)
finite_sentinel = Exhibit(
    name="finite_sentinel",
    merge=FiniteSentinel(),
    wing=Wing.EMPTIES,
    detectors=("oracle", "law shift"),
    families=("specials", "bit_patterns"),
    thread="flashinfer#4401",
)
minus_infinity_is_no_empty = Exhibit(
    name="minus_infinity_is_no_empty",
    merge=MinusInfinityIsNoEmpty(),
    wing=Wing.EMPTIES,
    detectors=_EMPTY,
    families=_FAMILIES,
    thread="vllm#28181",
)
no_mass_is_no_empty = Exhibit(
    name="no_mass_is_no_empty",
    merge=NoMassIsNoEmpty(),
    wing=Wing.EMPTIES,
    detectors=_EMPTY,
    families=_FAMILIES,
    thread="lmdeploy#4696",
)
negative_zero_is_mass = Exhibit(
    name="negative_zero_is_mass",
    merge=NegativeZeroIsMass(),
    wing=Wing.EMPTIES,
    detectors=("law empties", "oracle"),
    families=("empties",),
)
nan_triple_spoils = Exhibit(
    name="nan_triple_spoils",
    merge=NanTripleSpoils(),
    wing=Wing.EMPTIES,
    detectors=_EMPTY,
    families=_FAMILIES,
)
massless_lse_plus_infinity = Exhibit(
    name="massless_lse_plus_infinity",
    merge=MasslessLsePlusInfinity(),
    wing=Wing.EMPTIES,
    detectors=("oracle",),
    families=_FAMILIES,
    thread="flash-attention#978",
)
massless_lse_zero = Exhibit(
    name="massless_lse_zero",
    merge=MasslessLseZero(),
    wing=Wing.EMPTIES,
    detectors=("oracle",),
    families=_FAMILIES,
)
massless_row_is_mean = Exhibit(
    name="massless_row_is_mean",
    merge=MasslessRowIsMean(),
    wing=Wing.EMPTIES,
    detectors=("oracle", "law empties", "law tail"),
    families=_FAMILIES,
    thread="pytorch#134650",
)
