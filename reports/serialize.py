"""A report as JSON, and back.

Non-finite numbers become the strings "inf", "-inf" and "nan": JSON has no word for them, and null
would hide them.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from reports.records import SCHEMA, Finding, Number, Report
from reports.strata import EDGES, Stratum, StratumKey

_NON_FINITE = ("inf", "-inf", "nan")


def to_json(report: Report) -> str:
    """Write the report as JSON text; the same report gives the same text."""
    body: dict[str, Any] = {"schema": SCHEMA}
    for part in fields(Report):
        value = getattr(report, part.name)
        if part.name == "strata":
            value = [stratum_record(stratum) for stratum in value]
        elif part.name == "findings":
            value = [_record_out(finding) for finding in value]
        body[part.name] = value
    return json.dumps(_plain(body), indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Report:
    """Read a report; raise ValueError, in one line, for anything that is not one."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a report: the JSON breaks off or is damaged ({error})") from None
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        came = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise ValueError(f"not a report this version reads: schema {came!r}, wanted {SCHEMA!r}")
    known = {part.name for part in fields(Report)}
    try:
        parts = {name: value for name, value in body.items() if name in known}
        parts["strata"] = tuple(_stratum_in(row) for row in body["strata"])
        parts["findings"] = tuple(_finding_in(row) for row in body["findings"])
        parts["artifacts"] = tuple(body["artifacts"])
        return Report(**parts)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"not a report: a part is missing or malformed ({error!r})") from None


def write_text(path: Path, text: str) -> None:
    """Replace a file whole: a reader sees the old text or the new, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".part")
    # A message may hold what no encoding knows; it must not cost the report.
    scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
    os.replace(scratch, path)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _record_out(record: Any) -> dict[str, Any]:
    row = {}
    for part in fields(record):
        value = getattr(record, part.name)
        row[part.name] = _record_out(value) if isinstance(value, Number) else value
    return row


def stratum_record(stratum: Stratum) -> dict[str, Any]:
    """Return a stratum as a report's JSON holds it, the derived numbers too."""
    row = {**stratum.key._asdict(), **_record_out(stratum)}
    del row["key"]
    counts = row.pop("counts")
    row["p50"], row["p99"], row["p99_9"] = (stratum.quantile(share) for share in (0.5, 0.99, 0.999))
    row["mean_signed_ulp"] = stratum.mean_signed_ulp
    row["misrounded_fraction"] = stratum.misrounded_fraction
    # Only the bins that hold something: most strata fill a handful of the fifty.
    row["histogram"] = {
        "edges": [[EDGES[i], EDGES[i + 1]] for i, count in enumerate(counts) if count],
        "counts": [count for count in counts if count],
    }
    return row


def _stratum_in(row: dict[str, Any]) -> Stratum:
    counts = [0] * (len(EDGES) - 1)
    for (lower, _), count in zip(row["histogram"]["edges"], row["histogram"]["counts"], strict=True):
        counts[EDGES.index(lower)] = count
    named = {part.name for part in fields(Stratum)} - {"key", "counts"}
    values = {name: _number_in(row[name]) for name in named}
    key = StratumKey(*(row[name] for name in StratumKey._fields))
    return Stratum(key=key, counts=tuple(counts), **values)


def _finding_in(row: dict[str, Any]) -> Finding:
    values = {part.name: row[part.name] for part in fields(Finding)}
    for name in ("got", "exact"):
        values[name] = Number(**values[name]) if values[name] is not None else None
    for name in ("ulp", "bound"):
        values[name] = _number_in(values[name])
    return Finding(**values)


def _number_in(value: Any) -> Any:
    return float(value) if value in _NON_FINITE else value
