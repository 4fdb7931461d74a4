"""A sweep as a table in Markdown and as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from reports.strata import EDGES
from verify.sweep.run import Result, Swept
from verify.sweep.tally import Tally
from verify.sweep.worst import Worst

SCHEMA = "mla-merge-sweep/1"
MAP_SCHEMA = "mla-merge-sweep-map/1"
COLUMNS = 16
"""Of the map: the leading four bits of the significand, or what a probe has in their place."""

_HEADER = (
    *("probe", "result", "points", "max ulp", "of normal results", "judged ulp", "misrounded"),
    *("NaN or ∞ misplaced", "failed", "decided by the oracle", "worst at"),
)


def to_table(result: Result, worst: Mapping[str, Sequence[Worst]]) -> str:
    """Return a row for every unit."""
    lines = ["| " + " | ".join(_HEADER) + " |", "| --- " * len(_HEADER) + "|"]
    for swept in result.swept:
        unit, tally = swept.unit, swept.tally
        found = worst.get(unit.name, ())
        cells = (
            unit.probe.name,
            "lse" if unit.probe.result == "lse" else unit.dtype,
            _points(swept),
            f"{tally.max_ulp:.5g}",
            f"{tally.max_normal_ulp:.5g}",
            f"{tally.judged_ulp:.5g}",
            f"{tally.misrounded:,}",
            f"{tally.misplaced:,}",
            f"{tally.failed:,}" + (f", excused {sum(tally.excused.values()):,}" if tally.excused else ""),
            f"{tally.handed_on:,}",
            f"`{found[0].inputs}`" if found else "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _points(swept: Swept) -> str:
    tally = swept.tally
    said = (
        f"{tally.points:,}"
        if swept.complete and not tally.unsupported
        else f"{tally.points:,} of {swept.size:,}"
    )
    return "; ".join([said, *(f"unsupported: {reason}" for reason in tally.unsupported)])


def faults_of(result: Result) -> list[str]:
    """Return a line for every fault of a call, with the unit that showed it."""
    return [
        f"{swept.unit.name}: {fault} ({count} calls)"
        for swept in result.swept
        for fault, count in swept.tally.faults.items()
    ]


def to_data(result: Result, worst: Mapping[str, Sequence[Worst]]) -> list[dict[str, Any]]:
    """Return the units as plain data, without their maps."""
    return [
        {
            "probe": swept.unit.probe.name,
            "sentence": swept.unit.probe.sentence,
            "result": swept.unit.probe.result,
            "dtype": swept.unit.dtype,
            "size": swept.size,
            "complete": swept.complete,
            **_numbers(swept.tally),
            "worst": [asdict(one) for one in worst.get(swept.unit.name, ())],
        }
        for swept in result.swept
    ]


def _numbers(tally: Tally) -> dict[str, Any]:
    record = {
        name: getattr(tally, name) for name in Tally.__dataclass_fields__ if name not in ("cells", "counts")
    }
    filled = [i for i, count in enumerate(tally.counts) if count]
    record["decided_on_the_device"] = tally.points - tally.handed_on
    record["histogram"] = {
        "edges": [[EDGES[i], EDGES[i + 1]] for i in filled],
        "counts": [tally.counts[i] for i in filled],
    }
    return record


def to_maps(result: Result) -> list[dict[str, Any]]:
    """Return the map of every unit: lines of sixteen cells, those that no point fell into being null."""
    return [_map(swept) for swept in result.swept if swept.tally.cells]


def _map(swept: Swept) -> dict[str, Any]:
    lines: dict[int, list[Any]] = {}
    misrounded: dict[int, list[Any]] = {}
    for name, cell in sorted(swept.tally.cells.items()):
        line, column = divmod(name, COLUMNS)
        # Four digits are more than a picture shows.
        lines.setdefault(line, [None] * COLUMNS)[column] = float(f"{cell.ulp:.4g}")
        misrounded.setdefault(line, [0] * COLUMNS)[column] = cell.misrounded
    return {
        "unit": swept.unit.name,
        "lines": [swept.unit.probe.line(line) for line in lines],
        "max_ulp": list(lines.values()),
        "misrounded": {
            swept.unit.probe.line(line): counts for line, counts in misrounded.items() if any(counts)
        },
    }


def plain(value: Any) -> Any:
    """Return data as JSON can hold it: numbers that it has no word for become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
