"""What a gate asks of a report, criterion by criterion: what is amiss, by how much, and how to see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from reports.records import Report
from verify import ledger
from verify.bounds import Bounds
from verify.gate.by_stratum import of_baseline, of_bounds
from verify.gate.measured import result_of
from verify.gate.wanted import Complaint, Wanted

_NOT_NUMBERS = ("name", "file", "sha256", "ulp", "base", "lse_base")

CHECKS = {
    "run": "judged",
    "findings": "none",
    "bounds": "every stratum within its measured bound",
    "baseline": "no stratum worse than there, none vanished",
    "outputs": "enough",
    "device": "the one required",
    "ledger": "no waiver stale, none to be reviewed",
}
"""The criteria in the order in which they are shown, and what a report that meets one is said to have."""


def complaints(report: Report, wanted: Wanted) -> tuple[Complaint, ...]:
    """Return all that a report does not pass for, in the order of `CHECKS`, the worst first in each."""
    return (
        *_of_run(report),
        *_of_findings(report),
        *of_bounds(report, wanted),
        *of_baseline(report, wanted),
        *_of_outputs(report, wanted),
        *_of_device(report, wanted),
        *(Complaint(check="ledger", said=said) for said in ledger.complaints(report)),
    )


def other_numbers(report: Report, bounds: Mapping[str, Any]) -> str:
    """Say in which number the bounds of a report differ from others but in the first term; else nothing.

    The errors of strata are what is left of them after the second term, so they compare under one alone.
    """
    used = report.bounds.get("used", {})
    ours = json.loads(json.dumps(bounds, default=str))
    for name in sorted({*used, *ours} - {*_NOT_NUMBERS}):
        if used.get(name) != ours.get(name):
            return f"{name} is {used.get(name, 'absent')} there and {ours.get(name, 'absent')} here"
    return ""


def numbers_of(bounds: Bounds) -> dict[str, Any]:
    """Return the numbers of bounds as a report holds them."""
    return asdict(bounds)


def _of_run(report: Report) -> Iterator[Complaint]:
    run = report.run
    if run["status"] != "judged":
        yield Complaint(
            check="run", said=f"it was {run['status']}: nothing can be concluded from what is missing"
        )
    elif run["stopped_by"] not in ("", "budget"):
        yield Complaint(check="run", said=f"it was stopped by {run['stopped_by']} before its last case")
    if report.oracle["certified_fraction"] < 1:
        yield Complaint(
            check="run", said=f"the oracle certified {report.oracle['certified_fraction']:.4%} alone"
        )


def _of_findings(report: Report) -> Iterator[Complaint]:
    for finding in report.findings:
        if not finding.issue:
            where = f" in {finding.result}" if finding.result else ""
            by = "" if finding.ulp is None else f" ({finding.ulp:.6g} ulp, bound {finding.bound:.6g})"
            said = f"{finding.id}{where}, {finding.similar} cases: {finding.message}{by}"
            yield Complaint(check="findings", said=said, replay=finding.repro["command"])
    if report.totals["failed"] and all(finding.issue for finding in report.findings):
        yield Complaint(
            check="findings", said=f"{report.totals['failed']} cases failed without one that says how"
        )


def _of_outputs(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    judged = report.totals["outputs"]
    if judged < wanted.min_outputs:
        yield Complaint(
            check="outputs", said=f"{judged} were judged, {wanted.min_outputs} are wanted at least"
        )
    before = 0 if wanted.baseline is None else wanted.baseline.totals["outputs"]
    if 2 * judged < before:
        yield Complaint(
            check="outputs", said=f"{judged} were judged, less than half of the baseline's {before}"
        )
    reached = {result_of(stratum.key) for stratum in report.strata if stratum.outputs}
    asked = {*report.run.get("dtypes", wanted.measured), "lse"}
    for result in wanted.measured:
        if result in asked and result not in reached:
            yield Complaint(
                check="outputs",
                said=f"{result}: nothing was judged, and {wanted.bounds.name} has a measured bound for it; "
                "name other bounds for a kernel that does not support it, or leave it out with --dtype",
            )


def _of_device(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    if wanted.device is None:
        return
    mode, about = report.run["mode"], report.environment
    # Shards that ran on different devices say all of them.
    for device in str(about["device"]).split(" / "):
        names = ("cuda" if mode == "device" else "cpu", device, str(about.get("arch", "")))
        if not any(wanted.device.casefold() in name.casefold() for name in names):
            yield Complaint(check="device", said=f"it ran on {device} ({mode}), {wanted.device} is required")
