"""The criteria of single strata: within its measured bound, and no worse than in the baseline."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from reports.movers import Mover, movers
from reports.records import Report
from reports.strata import Stratum, StratumKey
from verify.campaign.jobs import Stream
from verify.gate.measured import ALLOWANCE, result_of
from verify.gate.wanted import Complaint, Wanted

MARGIN_ALLOWANCE = 0.1
"""By how much of its bound a stratum may come nearer to it than in the baseline."""

_HALF = 0.5  # ulp that a correctly rounded result may be off: no stratum is worse for that
_WITNESS = re.compile(r"(\S+) at \[([0-9, ]+)\]")


def named(key: StratumKey) -> str:
    """Return a stratum's name for people."""
    return f"{key.family} {key.dtype} {key.result} ({key.domain})"


def of_bounds(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    """Yield the strata beyond their measured bound, the worst first."""
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


def of_baseline(report: Report, wanted: Wanted) -> Iterator[Complaint]:
    """Yield the strata that have vanished since the baseline, then those that are worse, the worst first."""
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
