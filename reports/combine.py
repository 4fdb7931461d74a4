"""Several reports of one run's shards as the report of the whole, exactly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from reports import shards
from reports.adding import added, coverage_of, joined, regimes_of, strata_of
from reports.groups import combine_findings
from reports.records import Report

_SAME = (
    *("tool.name", "tool.version", "tool.revision", "subject.name", "subject.source_sha256", "bounds.sha256"),
    *("run.seed", "run.profile", "run.max_cases", "run.families", "run.dtypes", "run.laws", "run.mode"),
    "environment.versions",
)
"""What the shards of one run have in common: the kernel, the cases and what judges them."""

_SAME_IF_SAID = (("subject", "convention"), ("bounds", "used"))
"""Likewise, where a report says it."""

_OF_A_SHARD = ("id", "shard", "started", "finished", "argv", "workers", "status", "stopped_by", "exit_code")
OF_A_SHARD = "the other shards' cases are not in here"
"""How the note of a single shard ends, which the whole does not need."""

_STATUS = {130: "interrupted", 3: "judged", 1: "judged", 0: "judged", 5: "nothing judged"}  # the worst first


def combine(reports: Iterable[Report], *, partial: bool = False) -> Report:
    """Return the report of all shards together; in which order they come does not matter.

    `partial` allows shards to be missing, which the result then says in a note. Raises ValueError, in one
    line, for reports that are not of one run, and for a shard that is missing or there twice.
    """
    try:
        return _combined(reports, partial=partial)
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"a report's parts are missing or malformed ({error!r})") from None


def _combined(reports: Iterable[Report], *, partial: bool) -> Report:
    ordered = sorted(((_shards(report), report) for report in reports), key=lambda pair: sorted(pair[0].held))
    if not ordered:
        raise ValueError("there is no report to combine")
    held = shards.together(of for of, _ in ordered)
    if held.missing and not partial:
        raise ValueError(f"shard {held.missing}/{held.count} is missing")
    whole = [report for _, report in ordered]
    _check_same(whole)
    totals = _totals([report.totals for report in whole])
    parts = sorted((part for report in whole for part in _parts(report)), key=_first_shard)
    return Report(
        tool={**whole[0].tool, "dirty": any(report.tool["dirty"] for report in whole)},
        run=_run(whole, parts, held),
        environment=joined([report.environment for report in whole]),
        subject=whole[0].subject,
        oracle=_oracle([report.oracle for report in whole], totals),
        bounds=whole[0].bounds,
        totals=totals,
        strata=strata_of(stratum for report in whole for stratum in report.strata),
        regimes=regimes_of(regime for report in whole for regime in report.regimes),
        ledger=_ledger([report.ledger for report in whole]),
        findings=combine_findings(finding for report in whole for finding in report.findings),
        coverage=coverage_of([report.coverage for report in whole]),
        artifacts=_artifacts(whole),
        notes=_notes(parts, held),
    )


def _shards(report: Report) -> shards.Shards:
    return shards.parse(_entry(report, "run.shard"))


def _first_shard(part: dict[str, Any]) -> int:
    return min(shards.parse(part["shard"]).held)


def _entry(report: Report, path: str) -> Any:
    part, _, name = path.partition(".")
    record = getattr(report, part)
    if name not in record:
        raise ValueError(f"a report without {path}: it is not of a run that can be combined")
    return record[name]


def _check_same(whole: Sequence[Report]) -> None:
    first = whole[0]
    for report in whole[1:]:
        for path in _SAME:
            known, other = _entry(first, path), _entry(report, path)
            if other != known:
                said = [f"{known!r:.60} in {first.run['shard']}", f"{other!r:.60} in {report.run['shard']}"]
                raise ValueError(f"these are not shards of one run: {path} is {' and '.join(said)}")
        for part, name in _SAME_IF_SAID:
            if getattr(first, part).get(name) != getattr(report, part).get(name):
                raise ValueError(f"these are not shards of one run: {part}.{name} is not the same in all")


def _parts(report: Report) -> list[dict[str, Any]]:
    """Return what is kept of each single run, one entry a shard."""
    if "shards" in report.run:
        return list(report.run["shards"])
    counted = {name: _entry(report, f"totals.{name}") for name in ("cases", "elapsed_s")}
    return [
        {
            **{name: _entry(report, f"run.{name}") for name in _OF_A_SHARD},
            **counted,
            "notes": list(report.notes),
        }
    ]


def _run(whole: Sequence[Report], parts: list[dict[str, Any]], held: shards.Shards) -> dict[str, Any]:
    codes = {part["exit_code"] for part in parts}
    if unknown := codes - set(_STATUS):
        raise ValueError(f"exit code {min(unknown)} is of no run that was reported")
    exit_code = next(code for code in _STATUS if code in codes)
    config = whole[0].run.get("config", {})
    everywhere = {
        name: value
        for name, value in config.items()
        if all(report.run.get("config", {}).get(name) == value for report in whole)
    }
    return {
        "id": hashlib.sha256("/".join(part["id"] for part in parts).encode()).hexdigest()[:32],
        "started": min((part["started"] for part in parts), key=datetime.fromisoformat),
        "finished": max((part["finished"] for part in parts), key=datetime.fromisoformat),
        "argv": [],
        **{
            name: whole[0].run[name]
            for name in ("profile", "max_cases", "seed", "families", "dtypes", "laws")
        },
        "shard": str(held),
        "streams": added("run.streams", [report.run.get("streams", {}) for report in whole]),
        "workers": sum(part["workers"] for part in parts),
        "mode": whole[0].run["mode"],
        "status": _STATUS[exit_code],
        "stopped_by": ", ".join(sorted({part["stopped_by"] for part in parts} - {""})),
        "exit_code": exit_code,
        "config": everywhere,
        "shards": parts,
    }


def _totals(totals: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for one in totals for name in one)
    whole = {
        name: added(f"totals.{name}", [one[name] for one in totals if name in one])
        for name in names
        if name not in ("elapsed_s", "outputs_per_s")
    }
    elapsed = max(one["elapsed_s"] for one in totals)  # shards run side by side
    rate = round(whole["outputs"] / elapsed, 1) if elapsed else 0.0
    return {**whole, "elapsed_s": elapsed, "outputs_per_s": rate}


def _oracle(oracles: Sequence[dict[str, Any]], totals: dict[str, Any]) -> dict[str, Any]:
    tiers = added("oracle.tiers", [oracle.get("tiers", {}) for oracle in oracles])
    return {
        "certified_fraction": sum(tiers.values()) / max(totals.get("values", 0), 1),
        "tiers": tiers,
        "bits": max(oracle["bits"] for oracle in oracles),
    }


def _ledger(ledgers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the ledger with what any shard hit; stale is only what none of them did."""
    if not any(ledgers):
        return {}
    if len({ledger.get("sha256") for ledger in ledgers}) > 1:
        raise ValueError("these are not shards of one run: they were judged with different ledgers")
    entries = {
        name: {_waiver(entry): entry for ledger in ledgers for entry in ledger.get(name, ())}
        for name in ("hits", "stale", "overdue")
    }
    for name in entries["hits"].keys() & entries["stale"].keys():
        del entries["stale"][name]
    return {**ledgers[0], **{name: [part[key] for key in sorted(part)] for name, part in entries.items()}}


def _waiver(entry: dict[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True)


def _artifacts(whole: Sequence[Report]) -> tuple[dict[str, str], ...]:
    files = {(file["path"], file["sha256"]): file for report in whole for file in report.artifacts}
    return tuple(files[name] for name in sorted(files))


def _notes(parts: Sequence[dict[str, Any]], held: shards.Shards) -> tuple[str, ...]:
    """Return the shards' notes; one that only some of them made speaks of those alone and says which."""
    notes = [f"partial: shard {held.missing}/{held.count} is missing"] if held.missing else []
    idle = [part["shard"] for part in parts if part["status"] == "nothing judged"]
    notes += [f"shard {shard} judged nothing" for shard in idle if len(idle) < len(parts)]
    said = dict.fromkeys(note for part in parts for note in part["notes"])
    for note in said if held.missing else (note for note in said if not note.endswith(OF_A_SHARD)):
        by = [shards.parse(part["shard"]) for part in parts if note in part["notes"]]
        notes.append(note if len(by) == len(parts) else f"shard {shards.together(by)}: {note}")
    return tuple(notes)
