"""What a gate asks of a report, criterion by criterion: what is amiss, by how much, and how to see it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reports.movers import Mover, movers
from reports.records import Report
from reports.strata import Stratum, StratumKey
from verify import ledger
from verify.bounds import Bounds
from verify.campaign.jobs import Stream
from verify.gate.ratchet import ALLOWANCE, MeasuredBound, result_of

MARGIN_ALLOWANCE = 0.1
"""By how much of its bound a stratum may come nearer to it than in the baseline."""

_HALF = 0.5  # ulp that a correctly rounded result may be off: no stratum is worse for that
_NOT_NUMBERS = ("name", "file", "sha256", "ulp", "base", "lse_base")
_WITNESS = re.compile(r"(\S+) at \[([0-9, ]+)\]")


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """One reason why a report does not pass."""

    check: str
    """Which criterion it does not meet: one of `CHECKS`."""
    said: str
    """What is wrong and by how much, a line."""
    replay: str = ""
    """The command that shows it again; empty where none does."""


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


def complaints(report: Report, wanted: Wanted) -> tuple[Complaint, ...]:
    """Return all that a report does not pass for, in the order of `CHECKS`, the worst first in each."""
    return (
        *_of_run(report),
        *_of_findings(report),
        *_of_bounds(report, wanted),
        *_of_baseline(report, wanted),
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


def named(key: StratumKey) -> str:
    """Return a stratum's name for people."""
    return f"{key.family} {key.dtype} {key.result} ({key.domain})"


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


def _of_bounds(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    excesses = []
    for stratum in _of_interest(report):
        bound = wanted.measured.get(result_of(stratum.key))
        limit = wanted.bounds.ulp if bound is None else bound.ulp
        if not stratum.judged_ulp <= limit:
            excesses.append((stratum.judged_ulp - limit, limit, stratum))
    for excess, limit, stratum in sorted(excesses, key=lambda one: (-one[0], one[2].key)):
        wrong = f", {stratum.failed} values failed" if stratum.failed else ""
        yield Complaint(
            check="bounds",
            said=f"{named(stratum.key)}: judged {stratum.judged_ulp:.6g} ulp, bound {limit:g}: "
            f"{excess:.3g} too much{wrong}",
            replay=_replay(report, stratum, wanted),
        )


def _of_baseline(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    if wanted.baseline is None:
        return
    looked_at = {stratum.key for stratum in _of_interest(report)}
    worse = []
    for mover in movers(wanted.baseline, report):
        # What is hunted follows the errors that a kernel makes, and may lead away from a stratum.
        if mover.vanished and mover.key.family != Stream.HUNT.value and mover.before is not None:
            said = f"{named(mover.key)} vanished: {mover.before.outputs} values there, none here"
            yield Complaint(check="baseline", said=said)
        elif mover.key in looked_at and (by := _worse(mover, wanted)):
            worse.append((mover, by))
    for mover, by in sorted(worse, key=lambda one: (-one[0].judged_change, -one[0].margin_change)):
        assert mover.after is not None
        yield Complaint(
            check="baseline", said=f"{named(mover.key)}: {by}", replay=_replay(report, mover.after, wanted)
        )


def _worse(mover: Mover, wanted: Wanted) -> str:
    """Say by how much a stratum is worse than its allowance allows, else nothing."""
    before, after = mover.before, mover.after
    if before is None or after is None:
        return ""
    bound = wanted.measured.get(result_of(mover.key))
    allowance = ALLOWANCE if bound is None else bound.allowance
    grown = after.judged_ulp - max(before.judged_ulp, _HALF)
    if grown > allowance:
        sides = f"judged {after.judged_ulp:.6g} ulp, {before.judged_ulp:.6g} there"
        return f"{sides}: {grown:.3g} more, {allowance:g} is allowed"
    nearer = after.margin - before.margin
    if after.max_ulp > _HALF + allowance and nearer > MARGIN_ALLOWANCE:
        sides = f"margin {after.margin:.4g}, {before.margin:.4g} there"
        return f"{sides}: {nearer:.3g} more, {MARGIN_ALLOWANCE:g} is allowed"
    return ""


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


def _of_interest(report: Report) -> list[Stratum]:
    """Return the strata whose errors are the kernel's own affair: not those that hold a known fault alone."""
    blamed = {
        (str(group["group"]).rpartition("/")[2], finding.result)
        for finding in report.findings
        if not finding.issue
        for group in finding.groups
    }
    waived = any(finding.issue for finding in report.findings)
    return [
        stratum
        for stratum in report.strata
        if not (waived and stratum.failed)
        or blamed & {(stratum.key.family, stratum.key.result), (stratum.key.family, "")}
    ]


def _replay(report: Report, stratum: Stratum, wanted: Wanted) -> str:
    """Return the command that shows the value of a stratum that came nearest to its bound."""
    match = _WITNESS.fullmatch(stratum.witness)
    if match is None:
        return ""
    case, place = match[1], match[2].replace(" ", "")
    config = report.run.get("config", {})
    kernel = config.get("kernel", {}).get("value", report.subject["import_path"])
    words = ["python", "-m", "verify.replay", case, "--kernel", str(kernel), "--at", place]
    if case.startswith(f"{Stream.HUNT.value}/"):
        words += ["--out", str(wanted.folder)]
    if wanted.bounds.name != "default":
        words += ["--bounds", wanted.bounds.name]
    convention = config.get("convention", {})
    if convention.get("source", "default") != "default":
        words += ["--convention", str(convention["value"])]
    if report.run["mode"] == "device":
        words += ["--device", "cuda"]
    return shlex.join(words)
