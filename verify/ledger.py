"""The ledger of known findings: a TOML file that waives each by its id, with an issue and a date.

    [[known]]
    id = "WRONG_LSE-4d2f710566"
    kernel = "my_kernels.py:merge"
    issue = "https://example.org/kernels/issues/12"
    review = 2027-03-31
    reason = "the logarithm and the maximum are added in float32; a rewrite is under way"

A waived finding does not fail a run. A waiver that matches no finding does, and so does one whose date of
review has passed: neither may lie there forgotten.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.records import Finding, Report
from verify.laws import LAWS
from verify.observed import FaultKind

_ID = re.compile(r"([A-Z_]+)-[0-9a-f]{10}")
_NOTE = "ledger: "


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """One finding that is known."""

    id: str
    """As a report names it: kind and hash."""
    kernel: str
    """Name or import path of the kernel that has it, as a report names them."""
    issue: str
    """Link to where the fault is dealt with."""
    review: date
    """The last day on which it is accepted."""
    reason: str
    """Why it is, in a sentence."""

    def record(self) -> dict[str, str]:
        """Return it as a report holds it."""
        return {part.name: str(getattr(self, part.name)) for part in fields(self)}


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The waivers of a file."""

    path: str
    """Where it lies, as it was named."""
    sha256: str
    """Of its bytes."""
    waivers: tuple[Waiver, ...]
    """In the order of the file."""

    def of(self, report: Report) -> tuple[Waiver, ...]:
        """Return the waivers that speak of a report's kernel."""
        names = (report.subject["name"], report.subject["import_path"])
        return tuple(waiver for waiver in self.waivers if waiver.kernel in names)


def read_ledger(file: Path) -> Ledger:
    """Read a ledger; ValueError, in one line, for a file that is none or an entry that is not whole."""
    try:
        content = file.read_bytes()
        body = tomllib.loads(content.decode())
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror or type(error).__name__})") from error
    except ValueError as error:  # of UTF-8 or of TOML
        raise ValueError(f"{file} is no TOML: {' '.join(str(error).split())}") from error
    entries = body.pop("known", [])
    if body or not isinstance(entries, list):
        raise ValueError(f"{file} has {', '.join(body) or 'known'} at its top, wanted tables [[known]] alone")
    waivers = []
    for number, entry in enumerate(entries, 1):
        try:
            waivers.append(_waiver(entry))
        except ValueError as error:
            raise ValueError(f"{file}: entry {number} of [[known]]: {error}") from None
    twice = {
        (w.id, w.kernel) for w in waivers if sum((w.id, w.kernel) == (o.id, o.kernel) for o in waivers) > 1
    }
    for name, kernel in sorted(twice):
        raise ValueError(f"{file}: {name} of {kernel} is there twice; leave one of them out")
    return Ledger(path=str(file), sha256=hashlib.sha256(content).hexdigest(), waivers=tuple(waivers))


def _waiver(entry: Any) -> Waiver:
    names = [part.name for part in fields(Waiver)]
    if not isinstance(entry, dict):
        raise ValueError(f"it is {entry!r:.60}, wanted a table of {', '.join(names)}")
    for name in names:
        if name not in entry:
            raise ValueError(f"{name} is missing; it holds {', '.join(names)}")
    for name, value in entry.items():
        if name not in names:
            raise ValueError(f"{name!r:.60} is unknown; it holds {', '.join(names)}")
        if name != "review" and not (isinstance(value, str) and value.strip()):
            raise ValueError(f"{name} is {value!r:.60}, wanted some text")
    match = _ID.fullmatch(entry["id"])
    if match is None or match[1] not in {kind.value for kind in FaultKind}:
        raise ValueError(f"id is {entry['id']!r:.60}, wanted a finding's, as WRONG_LSE-4d2f710566")
    if not re.fullmatch(r"https?://\S+", entry["issue"]):
        raise ValueError(f"issue is {entry['issue']!r:.60}, wanted a link that begins with https://")
    if type(entry["review"]) is not date:  # a time of day is a date as well to Python
        came = entry["review"].isoformat() if isinstance(entry["review"], datetime) else repr(entry["review"])
        raise ValueError(f"review is {came:.60}, wanted a date without quotes, as 2027-03-31")
    return Waiver(**entry)


def waive(report: Report, ledger: Ledger, *, today: date) -> Report:
    """Return the report with its known findings counted as known, and what is wrong with the waivers said.

    To do it again, with the same ledger or another, gives what that would have given at once. A failing
    case is known if no finding that is not waived can have shown it.
    """
    waivers = {waiver.id: waiver for waiver in ledger.of(report)}
    findings = tuple(
        replace(finding, issue=waivers[finding.id].issue if finding.id in waivers else "")
        for finding in report.findings
    )
    met = {finding.id for finding in findings}
    stale = [waiver for waiver in waivers.values() if waiver.id not in met]
    overdue = [waiver for waiver in waivers.values() if waiver.review < today]
    hits = [waiver for waiver in waivers.values() if waiver.id in met]
    entries = {"hits": hits, "stale": stale, "overdue": overdue}
    record: dict[str, Any] = {"path": ledger.path, "sha256": ledger.sha256}
    record |= {name: [waiver.record() for waiver in of] for name, of in entries.items()}
    notes = [note for note in report.notes if not note.startswith(_NOTE)]
    if stale and (narrowed := _narrowed(report)):
        notes.append(
            f"{_NOTE}{len(stale)} waivers match no finding, which says nothing here, as this is not a whole "
            f"run: {narrowed}"
        )
    settled = replace(
        report, findings=findings, ledger=record, totals=_totals(report.totals, findings), notes=tuple(notes)
    )
    wrong = complaints(settled)
    notes += [_NOTE + complaint for complaint in wrong]
    run = dict(report.run)
    if run["exit_code"] in (0, 1) and run["status"] == "judged":
        run["exit_code"] = int(settled.totals["failed"] > 0 or bool(wrong))
    return replace(settled, run=run, notes=tuple(notes))


def complaints(report: Report) -> tuple[str, ...]:
    """Return what is wrong with the waivers that a report was judged with, a line each: any fails the run."""
    if not report.ledger:
        return ()
    path = report.ledger["path"]
    stale = () if _narrowed(report) else report.ledger["stale"]
    said = [
        f"{entry['id']} ({entry['issue']}) matches no finding any more: take it out of {path}"
        for entry in stale
    ]
    said += [
        f"{entry['id']} ({entry['issue']}) was to be reviewed by {entry['review']}: do so in {path}"
        for entry in report.ledger.get("overdue", ())
    ]
    return tuple(said)


def _totals(totals: Mapping[str, Any], findings: tuple[Finding, ...]) -> dict[str, Any]:
    failing = totals["failed"] + totals["known"]
    # A case may have shown several findings. At most so many showed one that is not waived.
    others = sum(finding.similar for finding in findings if not finding.issue)
    waived = any(finding.issue for finding in findings)
    known = max(0, failing - others) if waived else 0
    return {**totals, "failed": failing - known, "known": known}


def _narrowed(report: Report) -> str:
    """Say what the run left out, so that a finding may be missing though the fault is there; else nothing."""
    run = report.run
    if run["status"] != "judged" or run["stopped_by"]:
        return f"it was stopped by {run['stopped_by'] or 'something'}"
    if "shards" not in run and run.get("shard", "0/1") != "0/1":
        return f"shard {run['shard']}"
    if report.notes and any(note.startswith("partial: ") for note in report.notes):
        return "shards are missing"
    if run.get("max_cases"):
        return f"--max-cases {run['max_cases']}"
    whole = {"families": ("corpus", *DRAWN, "hunt"), "dtypes": tuple(FORMATS), "laws": tuple(LAWS)}
    for name, all_of in whole.items():
        missing = [one for one in all_of if one not in run.get(name, all_of)]
        if missing:
            return f"without {', '.join(missing[:3])}{' and more' if len(missing) > 3 else ''}"
    return ""
