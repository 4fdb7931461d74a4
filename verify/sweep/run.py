"""Run the units of a sweep, keep what they gave, and look at the worst points again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from verify.bounds import Bounds
from verify.campaign.interrupts import no_interrupt, one_interrupt
from verify.campaign.progress import Progress
from verify.subjects.load import Subject
from verify.sweep.measure import measure
from verify.sweep.plan import Plan, Unit
from verify.sweep.state import State
from verify.sweep.tally import Tally

_KEPT_EVERY_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What came of one unit."""

    unit: Unit
    tally: Tally
    size: int
    """Points that it has."""

    @property
    def complete(self) -> bool:
        """Whether every point was judged, or is not supported."""
        return self.tally.points + sum(self.tally.unsupported.values()) == self.size


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a sweep."""

    swept: tuple[Swept, ...]
    """Units in order; those that were not begun have no points."""
    stopped_by: str
    """`interrupt`, `budget` or empty."""
    elapsed_s: float
    """Of this process."""


def sweep(
    subject: Subject,
    plan: Plan,
    bounds: Bounds,
    state: State,
    progress: Progress,
    *,
    budget_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Run every unit from where it was left; a kernel that gives nothing to judge ends its unit."""
    with _threads(plan.device):
        units = plan.units()
        sizes = [plan.size(unit) for unit in units]
        found = {unit.name: state.load(unit.name) for unit in units}
        pace = _Pace(sum(sizes), sum(_seen(tally) for _, tally in found.values()), clock)

        def is_over() -> bool:
            return budget_s is not None and pace.elapsed >= budget_s

        stopped_by = ""
        kept = clock()
        try:
            with one_interrupt():
                for unit in units:
                    for number, one in _judged(subject, plan, bounds, unit, found[unit.name], is_over):
                        found[unit.name] = number, found[unit.name][1].merged(one)
                        progress(*pace.on(_seen(one)), pace.said(unit.name))
                        if clock() - kept > _KEPT_EVERY_S:
                            kept = clock()
                            _keep(state, found, unit)
                    _keep(state, found, unit)
        except _OverError:
            stopped_by = "budget"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        for unit in units:
            _keep(state, found, unit)
    swept = (Swept(unit=u, tally=found[u.name][1], size=n) for u, n in zip(units, sizes, strict=True))
    return Result(swept=tuple(swept), stopped_by=stopped_by, elapsed_s=pace.elapsed)


class _OverError(Exception):
    """The time is over."""


def _judged(
    subject: Subject,
    plan: Plan,
    bounds: Bounds,
    unit: Unit,
    before: tuple[int, Tally],
    is_over: Callable[[], bool],
) -> Iterator[tuple[int, Tally]]:
    """Yield the number and the tally of each call that is still to be made; _OverError when it is time."""
    first, tally = before
    if any(_ends(fault) for fault in tally.faults):
        return
    for number, part in enumerate(plan.calls(unit, first), start=first + 1):
        if is_over():
            raise _OverError
        one = measure(subject, unit.probe, part, unit.dtype, bounds)
        yield number, one
        if not _seen(one):
            return


def _keep(state: State, found: Mapping[str, tuple[int, Tally]], unit: Unit) -> None:
    calls, tally = found[unit.name]
    if calls:
        with no_interrupt():
            state.save(unit.name, calls, tally)


@contextmanager
def _threads(device: str) -> Iterator[None]:
    """Keep torch to one thread on a CPU: calls are small, and two threads mostly wait for each other."""
    before = torch.get_num_threads()
    try:
        if device == "cpu":
            torch.set_num_threads(1)
        yield
    finally:
        torch.set_num_threads(before)


class _Pace:
    """How many points were seen, and how long the rest may take."""

    def __init__(self, total: int, before: int, clock: Callable[[], float]) -> None:
        self._total, self._before, self._now = total, before, before
        self._clock, self._begun = clock, clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._begun

    def on(self, points: int) -> tuple[int, int]:
        """Count points; return what was seen so far, of how much."""
        self._now += points
        return self._now, self._total

    def said(self, name: str) -> str:
        """Return what to say beside the progress."""
        done = self._now - self._before
        left = self.elapsed * (self._total - self._now) / done if done else 0.0
        return f"{name}, about {_duration(left)} left"


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _seen(tally: Tally) -> int:
    return tally.points + sum(tally.unsupported.values())


def _ends(fault: str) -> bool:
    """Tell whether a fault left nothing to judge, so that further calls would give the same."""
    return fault.partition(":")[0] in ("CRASH", "COMPILE_ERROR", "WRONG_SHAPE_OR_DTYPE")
