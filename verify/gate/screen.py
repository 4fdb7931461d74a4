"""What the gate says: a screen for people, and the report as it is passed on to those who read renderings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reports.records import Report
from verify.cli.config import Settings
from verify.gate.criteria import CHECKS
from verify.gate.wanted import Complaint

_SHOWN = 3  # complaints of each criterion: all of them must fit a screen
_WIDTH = 240


def told(report: Report, found: Sequence[Complaint], code: int) -> Report:
    """Return the report with the gate's exit code, and as notes what it fails for beside its findings."""
    notes = tuple(f"gate, {line}" for check in CHECKS for line in _notes(check, found))
    return replace(report, run={**report.run, "exit_code": code}, notes=(*notes, *report.notes))


def _notes(check: str, found: Sequence[Complaint]) -> Iterator[str]:
    of = [complaint for complaint in found if complaint.check == check != "findings"]
    for complaint in of[:_SHOWN]:
        again = f"; {complaint.replay}" if complaint.replay else ""
        yield f"{check}: {_cut(complaint.said)}{again}"
    if len(of) > _SHOWN:
        yield f"{check}: {len(of) - _SHOWN} more"


def title(report: Report, settings: Settings) -> str:
    """Say what was judged, where, and against what."""
    run, device = report.run, report.environment["device"]
    against = [
        f"{name} {settings[name]}" for name in ("bounds", "ledger", "baseline") if settings[name] is not None
    ]
    made = f"profile {run['profile']} seed {run['seed']}"
    return f"gate: {report.subject['name']} on {device} ({run['mode']}), {made}, against {', '.join(against)}"


def screen(found: Sequence[Complaint], report: Report, settings: Settings) -> list[str]:
    """Say of each criterion whether it is met, and by how much not."""
    lines = []
    asked = {
        "baseline": settings["baseline"],
        "device": settings["require-device"],
        "ledger": settings["ledger"],
    }
    known = [finding for finding in report.findings if finding.issue]
    also = {
        "run": ", as far as its budget reached" if report.run["stopped_by"] else ", all its cases",
        "findings": f" that is new, {len(known)} known" if known else "",
        "outputs": f": {report.totals['outputs']}, {settings['min-outputs']} are wanted",
    }
    for check, met in CHECKS.items():
        of = [complaint for complaint in found if complaint.check == check]
        if not of:
            said = "not asked for" if asked.get(check, "") is None else met
            lines.append(f"ok    {check:<9} {said}{also.get(check, '')}")
            continue
        lines.append(f"FAIL  {check:<9} {len(of)}")
        for complaint in of[:_SHOWN]:
            lines.append(f"  {_cut(complaint.said)}")
            if complaint.replay:
                lines.append(f"    {complaint.replay}")
        if len(of) > _SHOWN:
            lines.append(f"  and {len(of) - _SHOWN} more")
    for finding in known[:_SHOWN]:
        lines.append(f"known {finding.id}, {finding.similar} cases: {finding.issue}")
    return lines


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
