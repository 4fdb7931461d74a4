"""What changed between two reports of a kernel, stratum by stratum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.records import Report
from reports.strata import Stratum, StratumKey

_ALIKE = ("profile", "max_cases", "seed", "families", "dtypes", "mode")


@dataclass(frozen=True, kw_only=True)
class Mover:
    """One stratum in two reports; a stratum that only one of them holds counts as well."""

    key: StratumKey
    """family, domain, dtype and result."""
    before: Stratum | None
    """What the earlier report measured; None where it held no such stratum."""
    after: Stratum | None
    """What the later report measured; None where it holds no such stratum."""

    @property
    def vanished(self) -> bool:
        """Whether the later report no longer judges it: a check that was lost, never an improvement."""
        return self.after is None

    @property
    def appeared(self) -> bool:
        """Whether only the later report judges it."""
        return self.before is None

    @property
    def before_judged_ulp(self) -> float | None:
        """Largest judged error before, in ulp; None where there was none."""
        return None if self.before is None else self.before.judged_ulp

    @property
    def after_judged_ulp(self) -> float | None:
        """Largest judged error after, in ulp; None where there is none."""
        return None if self.after is None else self.after.judged_ulp

    @property
    def before_margin(self) -> float | None:
        """Largest |error| / bound before; None where there was none."""
        return None if self.before is None else self.before.margin

    @property
    def after_margin(self) -> float | None:
        """Largest |error| / bound after; None where there is none."""
        return None if self.after is None else self.after.margin

    @property
    def judged_change(self) -> float:
        """By how much the judged error grew, in ulp; 0 where there is nothing to compare."""
        return _difference(self.before_judged_ulp, self.after_judged_ulp)

    @property
    def margin_change(self) -> float:
        """By how much the margin grew; 0 where there is nothing to compare."""
        return _difference(self.before_margin, self.after_margin)

    @property
    def failed_change(self) -> int:
        """How many values more fail than before; a stratum that is not there fails none."""
        before, after = (0 if side is None else side.failed for side in (self.before, self.after))
        return after - before

    @property
    def moved(self) -> bool:
        """Whether anything that a bound speaks of is not as it was."""
        changes = (self.judged_change, self.margin_change, self.failed_change)
        return self.vanished or self.appeared or any(change != 0 for change in changes)


def movers(before: Report, after: Report) -> tuple[Mover, ...]:
    """Return every stratum of either report, paired: what vanished first, then the worst changes, by name.

    The two may be of any runs; `differences` says what makes them no fair comparison.
    """
    old = {stratum.key: stratum for stratum in before.strata}
    new = {stratum.key: stratum for stratum in after.strata}
    pairs = (Mover(key=key, before=old.get(key), after=new.get(key)) for key in {**old, **new})
    return tuple(sorted(pairs, key=_rank))


def differences(before: Report, after: Report) -> Iterator[str]:
    """Yield what else is not the same on both sides, so that nobody lays it at the kernel's door."""
    for name in _ALIKE:
        sides = [report.run.get(name) for report in (before, after)]
        if sides[0] != sides[1]:
            yield f"the {name.replace('_', ' ')} differs: {sides[0]} and {sides[1]}"
    for what in ("device", "versions"):
        sides = [report.environment[what] for report in (before, after)]
        if sides[0] != sides[1]:
            yield f"the {what} differs: {sides[0]} and {sides[1]}"
    if before.bounds.get("sha256") != after.bounds.get("sha256"):
        yield "the bounds differ: margins cannot be compared"
    if before.tool.get("revision") != after.tool.get("revision"):
        yield "the suite differs: its cases may not be the same"


def _difference(before: float | None, after: float | None) -> float:
    # Two infinities are equal; their difference would be no number.
    return 0.0 if before is None or after is None or before == after else after - before


def _rank(mover: Mover) -> tuple[object, ...]:
    change = (-mover.failed_change, -mover.judged_change, -mover.margin_change)
    return (not mover.vanished, *change, not mover.appeared, mover.key)
