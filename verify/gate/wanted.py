"""What a gate holds a report to, and what it says where that is not met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.records import Report
from verify.bounds import Bounds
from verify.gate.measured import MeasuredBound


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """One reason why a report does not pass."""

    check: str
    """Which criterion it does not meet: one of `CHECKS`."""
    said: str
    """What is wrong and by how much, a line."""
    replay: str = ""
    """The command that shows it again; empty where none does."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a report is held to."""

    bounds: Bounds
    """What it must have been judged by, or by a wider first term of the same."""
    measured: Mapping[str, MeasuredBound]
    """What each result is held to within these."""
    baseline: Report | None
    """The report that it must not be worse than."""
    min_outputs: int
    """Outputs that must have been judged."""
    device: str | None
    """`cuda` for any GPU, or a part of a device's name, in any case."""
    folder: Path
    """Where the run has its journal, for hunted cases to be replayed from."""
