"""Faults about NaN, infinities and illegal masses: who must become NaN, and who must not."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class HiddenNan(Merge):
    """Replaces NaN in the output by zero, lest it spread."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        return torch.where(y.isnan(), 0.0, y), lse


class NanRowAsMassless(Merge):
    """Returns 0 and −inf for a row whose statistics are NaN, as if nobody had anything to say."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        return torch.where(lse.isnan()[..., None], 0.0, y), torch.where(lse.isnan(), -torch.inf, lse)


class NanMaximumSkipped(Merge):
    """Leaves out a segment whose maximum is NaN, as a maximum that prefers numbers does."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) & ~m.isnan()


class NanMassSkipped(Merge):
    """Leaves out a segment whose mass is NaN although its maximum is a number."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) & ~s.isnan()


class MasslessNanIsEmpty(Merge):
    """Takes a segment without mass as empty even if its maximum is NaN."""

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().live(written, m, s) & (s != 0)


class NegativeMassAccepted(Merge):
    """Adds a negative mass as if it were one."""

    def broken(self, live: Tensor, m: Tensor, s: Tensor) -> Tensor:
        return super().broken(live, m, s.abs())


class InfiniteMassAccepted(Merge):
    """Returns 0 and +inf for a row with an infinite mass, as the division gives it."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        written = torch.arange(m.shape[-1], device=m.device) < active[:, None, None]
        heavy = (self.live(written, m, s) & (s == torch.inf)).any(-1) & ~m.isnan().any(-1)
        return torch.where(heavy[..., None], 0.0, y), torch.where(heavy, torch.inf, lse)


class InfiniteMaximumClamped(Merge):
    """Reads a maximum of +inf as the largest float32."""

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return super().statistics(m.clamp(max=torch.finfo(torch.float32).max), s)


class InfinityTimesZero(Merge):
    """Multiplies an infinite value by a weight that has become zero, and gets NaN."""

    def infinite(self, kept: Tensor, weight: Tensor, y: Tensor) -> Tensor:
        lost = (kept.isinf() & (weight < 2.0**-149)[..., None]).any(2)
        return torch.where(lost, torch.nan, super().infinite(kept, weight, y))


class FarInfinityLeftOut(Merge):
    """Skips segments whose weight is too small to matter, and with them their infinities."""

    def infinite(self, kept: Tensor, weight: Tensor, y: Tensor) -> Tensor:
        return super().infinite(torch.where((weight < 2.0**-149)[..., None], 0.0, kept), weight, y)


class FirstInfinityWins(Merge):
    """Returns +inf where infinities of both signs meet."""

    def infinite(self, kept: Tensor, weight: Tensor, y: Tensor) -> Tensor:
        made = super().infinite(kept, weight, y)
        both = (kept == torch.inf).any(2) & (kept == -torch.inf).any(2) & ~kept.isnan().any(2)
        return torch.where(both, torch.inf, made)


class NanSpreadsOverTheRow(Merge):
    """Makes the whole row NaN for a NaN in one column."""

    def infinite(self, kept: Tensor, weight: Tensor, y: Tensor) -> Tensor:
        spoilt = kept.isnan().any(2).any(-1, keepdim=True)
        return torch.where(spoilt, torch.nan, super().infinite(kept, weight, y))


class NanValueSpoilsLse(Merge):
    """Returns a NaN lse for a row with NaN in its values, though its mass is known."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        y, lse = super().rows(o, m, s, active)
        return y, torch.where(y.isnan().any(-1), torch.nan, lse)


def _exhibit(name: str, merge: Merge, families: tuple[str, ...] = ("specials",), thread: str = "") -> Exhibit:
    # None of these is anybody's but the oracle's: laws leave rows with NaN and infinities alone.
    return Exhibit(
        name=name,
        merge=merge,
        wing=Wing.NAN_POLICY,
        detectors=("oracle",),
        families=families,
        thread=thread,
    )


hidden_nan = _exhibit("hidden_nan", HiddenNan())
nan_row_as_massless = _exhibit("nan_row_as_massless", NanRowAsMassless())
nan_maximum_skipped = _exhibit("nan_maximum_skipped", NanMaximumSkipped())
nan_mass_skipped = _exhibit("nan_mass_skipped", NanMassSkipped())
massless_nan_is_empty = _exhibit("massless_nan_is_empty", MasslessNanIsEmpty())
negative_mass_accepted = _exhibit("negative_mass_accepted", NegativeMassAccepted())
infinite_mass_accepted = _exhibit("infinite_mass_accepted", InfiniteMassAccepted())
infinite_maximum_clamped = _exhibit("infinite_maximum_clamped", InfiniteMaximumClamped())
infinity_times_zero = _exhibit("infinity_times_zero", InfinityTimesZero())
far_infinity_left_out = _exhibit("far_infinity_left_out", FarInfinityLeftOut())
first_infinity_wins = _exhibit("first_infinity_wins", FirstInfinityWins())
nan_spreads_over_the_row = _exhibit("nan_spreads_over_the_row", NanSpreadsOverTheRow())
nan_value_spoils_lse = _exhibit("nan_value_spoils_lse", NanValueSpoilsLse())
