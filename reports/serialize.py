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

from reports.conform import complaint
from reports.records import SCHEMA, Finding, Number, Report
from reports.regimes import Regime, RegimeKey
from reports.strata import EDGES, Stratum, StratumKey

_NON_FINITE = ("inf", "-inf", "nan")
_OPTIONAL = ("regimes", "ledger", "diagnosis", "proof", "segments")
"""Parts of a report and of a finding that are written only when they hold something."""


def to_json(report: Report) -> str:
    """Write the report as JSON text; the same report gives the same text."""
    body: dict[str, Any] = {"schema": SCHEMA}
    for part in fields(Report):
        value = getattr(report, part.name)
        if part.name in _OPTIONAL and not value:
            continue
        if part.name == "strata":
            value = [stratum_record(stratum) for stratum in value]
        elif part.name == "regimes":
            value = [regime_record(regime) for regime in value]
        elif part.name == "findings":
            value = [_record_out(finding) for finding in value]
        body[part.name] = value
    return (
        "{\n" + ",\n".join(f" {json.dumps(name)}: {_text(value)}" for name, value in body.items()) + "\n}\n"
    )


def from_json(text: str) -> Report:
    """Read a report; raise ValueError, in one line, for anything that is not one."""
    try:
        body = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a report: the JSON breaks off or is damaged ({error})") from None
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        came = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise ValueError(f"not a report this version reads: schema {came!r:.60}, wanted {SCHEMA!r}")
    if wrong := complaint(body):
        raise ValueError(f"not a report: a part is missing or malformed ({_one_line(wrong)})")
    parts = {part.name: body[part.name] for part in fields(Report) if part.name in body}
    try:
        parts["strata"] = tuple(_stratum_in(row) for row in body["strata"])
        parts["regimes"] = tuple(_regime_in(row) for row in body.get("regimes", ()))
        parts["findings"] = tuple(_finding_in(row) for row in body["findings"])
    except (LookupError, ValueError, ArithmeticError) as error:
        raise ValueError(f"not a report: a part is missing or malformed ({_one_line(error)})") from None
    return Report(**{**parts, "artifacts": tuple(parts["artifacts"]), "notes": tuple(parts["notes"])})


def read_report(file: Path) -> Report:
    """Read a report's file; OSError where it cannot be opened, ValueError where it holds no report."""
    content = file.read_bytes()
    try:
        return from_json(content.decode())
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Replace a file whole: a reader sees the old text or the new, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    scratch = path.with_name(path.name + ".part")
    # A message may hold what no encoding knows; it must not cost the report.
    scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
    os.replace(scratch, path)


def _text(value: Any) -> str:
    """Write a part, a list with a line for each of its rows: small, and yet a diff tells rows apart."""
    plain = _plain(value)
    if isinstance(plain, list) and plain:
        return "[\n" + ",\n".join("  " + json.dumps(row, allow_nan=False) for row in plain) + "\n ]"
    return json.dumps(plain, indent=1, allow_nan=False).replace("\n", "\n ")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check(name: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    wanted = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise TypeError(f"{name} is {value!r:.50}")
    return value


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
        if part.name != "key" and (value or part.name not in _OPTIONAL):
            row[part.name] = _record_out(value) if isinstance(value, Number) else value
    return row


def stratum_record(stratum: Stratum) -> dict[str, Any]:
    """Return a stratum as a report's JSON holds it, the derived numbers too."""
    row = {**stratum.key._asdict(), **_record_out(stratum)}
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
        counts[EDGES.index(lower)] += count
    values = {part.name: _number_in(row[part.name]) for part in fields(Stratum)[1:-1]}
    stratum = Stratum(
        key=StratumKey(*(row[name] for name in StratumKey._fields)), counts=tuple(counts), **values
    )
    if sum(counts) != stratum.numbers or stratum.misrounded > stratum.numbers:
        raise ValueError(f"the numbers of {'/'.join(stratum.key)} contradict each other")
    math.isfinite(stratum.mean_signed_ulp)  # a sum beyond all floats is an OverflowError here
    return stratum


def regime_record(regime: Regime) -> dict[str, Any]:
    """Return a regime as a report's JSON holds it."""
    return {**regime.key._asdict(), **_record_out(regime)}


def _regime_in(row: dict[str, Any]) -> Regime:
    values = {part.name: _number_in(row[part.name]) for part in fields(Regime)[1:]}
    return Regime(key=RegimeKey(*(row[name] for name in RegimeKey._fields)), **values)


def _finding_in(row: dict[str, Any]) -> Finding:
    values = {part.name: row[part.name] for part in fields(Finding) if part.name in row}
    for name in ("got", "exact"):
        if values[name] is not None:
            values[name] = Number(**{part.name: values[name][part.name] for part in fields(Number)})
    for name in ("ulp", "bound"):
        values[name] = _number_in(values[name])
    for name in ("groups", "segments"):
        values[name] = tuple(values.get(name, ()))
    return Finding(**values)


def _number_in(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in _NON_FINITE else value


def _one_line(said: object) -> str:
    return " ".join(str(said).split())
