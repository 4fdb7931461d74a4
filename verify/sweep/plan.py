"""Divide a sweep into units, one probe in one format each, and units into calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from fuzz.formats import FORMATS
from verify.sweep.measure import Points
from verify.sweep.probe import Probe
from verify.sweep.registry import PROBES

# Points of a call, of one segment, powers of two: what fills a GPU, and what a progress bar can show.
_CALL = {"cpu": 1 << 16, "cuda": 1 << 24}


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A probe in one output format; for a probe of the lse that is float32."""

    probe: Probe
    dtype: str
    """Of the output that is asked for."""

    @property
    def name(self) -> str:
        """The name of its files."""
        return self.probe.name if self.probe.result == "lse" else f"{self.probe.name}-{self.dtype}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep looks at; the same plan gives the same calls in the same order."""

    probes: tuple[str, ...]
    """Names."""
    dtypes: tuple[str, ...]
    """Output formats, for the probes of the output."""
    device: str
    """`cpu` or `cuda`."""
    full: bool
    """Whether every point is looked at, and not the subset."""
    seed: int
    """Of what the subset draws."""

    def units(self) -> list[Unit]:
        """Return the units in order."""
        found = []
        for name in self.probes:
            probe = PROBES[name]
            dtypes = ("float32",) if probe.result == "lse" else self.dtypes
            found += [Unit(probe=probe, dtype=dtype) for dtype in dtypes]
        return found

    def size(self, unit: Unit) -> int:
        """Return how many points a unit has."""
        if self.full:
            return sum(stop - start for start, stop in unit.probe.ranges)
        return len(self._subset(unit))

    def calls(self, unit: Unit, first: int = 0) -> Iterator[Points]:
        """Yield the points of each call of a unit, from call number `first` on."""
        yield from (self._every if self.full else self._some)(unit, first)

    def _every(self, unit: Unit, first: int) -> Iterator[Points]:
        number = 0
        for start, stop in unit.probe.ranges:
            size = _CALL[self.device] // unit.probe.segments(start)
            # From one multiple of the size to the next, so that cells of the map are seldom cut.
            for left in range(start // size * size, stop, size):
                number += 1
                if number > first:
                    ends = max(left, start), min(left + size, stop)
                    yield Points(points=torch.arange(*ends, device=self.device), whole=True)

    def _some(self, unit: Unit, first: int) -> Iterator[Points]:
        points = self._subset(unit)
        _, counts = torch.unique_consecutive(unit.probe.shape(points), return_counts=True)
        parts = [
            part
            for alike in torch.split(points, counts.tolist())
            for part in torch.split(alike, _CALL[self.device] // unit.probe.segments(int(alike[0])))
        ]
        for part in parts[first:]:
            yield Points(points=part.to(self.device), whole=False)

    def _subset(self, unit: Unit) -> torch.Tensor:
        return unit.probe.subset(self.seed, FORMATS[unit.dtype])
