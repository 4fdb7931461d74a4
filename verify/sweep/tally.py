"""What was found on some points of a sweep; tallies merge exactly, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from reports.strata import EDGES


class Cell(NamedTuple):
    """What was found in a cell of the map."""

    points: int
    misrounded: int
    ulp: float
    """Largest |error|; infinite where a NaN or an infinity stands in another's place."""
    point: int
    """The first point that has it."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts and extremes of the errors, in ulp of the result's format at the exact value."""

    points: int = 0
    """Points judged."""
    misrounded: int = 0
    """Numbers that are not the correctly rounded one."""
    misplaced: int = 0
    """NaNs, infinities and numbers where another sort of value is right."""
    failed: int = 0
    """Points outside the bounds, or never written."""
    excused: Mapping[str, int] = field(default_factory=dict)
    """Points beyond the first term of which the bounds do not speak, by reason."""
    handed_on: int = 0
    """Points that float64 left undecided and the oracle decided."""
    max_ulp: float = 0.0
    """Largest |error| of a number."""
    max_normal_ulp: float = 0.0
    """The same where the correctly rounded value is a normal number."""
    judged_ulp: float = 0.0
    """Largest |error| less the second term of the bound. Points within the first term count in full."""
    counts: tuple[int, ...] = (0,) * (len(EDGES) - 1)
    """Histogram of |error| of numbers over the report's EDGES; a bin holds its lower edge."""
    cells: Mapping[int, Cell] = field(default_factory=dict)
    """The map, by the points' upper bits."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """Calls by what they did besides: `KIND: message`."""
    unsupported: Mapping[str, int] = field(default_factory=dict)
    """Points that the kernel does not support, by reason."""

    def merged(self, other: Tally) -> Tally:
        """Return the tally of both sets of points, which share none."""
        return replace(
            self,
            points=self.points + other.points,
            misrounded=self.misrounded + other.misrounded,
            misplaced=self.misplaced + other.misplaced,
            failed=self.failed + other.failed,
            excused=_added(self.excused, other.excused),
            handed_on=self.handed_on + other.handed_on,
            max_ulp=max(self.max_ulp, other.max_ulp),
            max_normal_ulp=max(self.max_normal_ulp, other.max_normal_ulp),
            judged_ulp=max(self.judged_ulp, other.judged_ulp),
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            cells={
                **self.cells,
                **{
                    name: _joined(cell, self.cells[name]) if name in self.cells else cell
                    for name, cell in other.cells.items()
                },
            },
            faults=_added(self.faults, other.faults),
            unsupported=_added(self.unsupported, other.unsupported),
        )

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.failed or self.faults)

    def worst(self, count: int) -> list[int]:
        """Return the worst points of the worst cells, one each, worst first."""
        cells = sorted(self.cells.values(), key=lambda cell: (-cell.ulp, cell.point))
        return [cell.point for cell in cells[:count]]


def to_record(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain data."""
    record = {name: getattr(tally, name) for name in Tally.__dataclass_fields__}
    return {**record, "cells": [[name, *cell] for name, cell in sorted(tally.cells.items())]}


def from_record(record: Mapping[str, Any]) -> Tally:
    """Read what `to_record` wrote; ValueError, TypeError or KeyError where it is none."""
    values = dict(record)
    values["counts"] = tuple(values["counts"])
    values["cells"] = {name: Cell(*cell) for name, *cell in values["cells"]}
    return Tally(**values)


def _joined(a: Cell, b: Cell) -> Cell:
    worst = min(a, b, key=lambda cell: (-cell.ulp, cell.point))
    return Cell(a.points + b.points, a.misrounded + b.misrounded, worst.ulp, worst.point)


def _added(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(a) + Counter(b))
