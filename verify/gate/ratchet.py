"""The ratchet: a measurement may lower a measured bound, and raise it for a reason written beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from reports.records import Report
from reports.strata import Stratum
from verify.gate.measured import RESULTS, MeasuredBound, result_of

LEAST = 0.5 + 2.0**-12
"""No bound goes lower: half an ulp is the least that a rounding can promise, errors are known to 2^-12."""

_DIGITS = 1000  # bounds have three decimals


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a measurement made of one bound."""

    result: str
    """Name of the bound."""
    before: float | None
    """Bound until then; None for a new one."""
    after: float
    """Bound from now on."""
    said: str
    """`new`, `tightened`, `loosened`, `kept`, or why it was not touched."""


def measure(report: Report) -> dict[str, MeasuredBound]:
    """Return the bounds that a report's strata would keep; those that hold a fault are left out."""
    groups: dict[str, list[Stratum]] = {}
    for stratum in report.strata:
        if stratum.numbers and not stratum.failed:
            groups.setdefault(result_of(stratum.key), []).append(stratum)
    versions = report.environment["versions"]
    about = {
        "kernel": report.subject["name"],
        "source_sha256": report.subject["source_sha256"],
        "device": report.environment["device"],
        "mode": report.run["mode"],
        "versions": ", ".join(f"{name} {versions[name]}" for name in sorted(versions)),
        "date": report.run["started"][:10],
    }
    measured = {}
    for result in RESULTS:
        if strata := groups.get(result):
            worst = max(strata, key=_badness)
            measured[result] = MeasuredBound(
                ulp=_rounded_up(max(*(stratum.judged_ulp for stratum in strata), LEAST)),
                judged_ulp=max(stratum.judged_ulp for stratum in strata),
                outputs=sum(stratum.outputs for stratum in strata),
                witness=worst.witness,
                **about,
            )
    return measured


def _badness(stratum: Stratum) -> tuple[float, bool, float]:
    # Of errors that differ by less than is known of them, one that needs no journal to be seen again.
    return (round(stratum.judged_ulp, 4), not stratum.witness.startswith("hunt/"), stratum.margin)


def _rounded_up(ulp: float) -> float:
    return math.ceil(Fraction(ulp) * _DIGITS) / _DIGITS


def ratchet(
    known: Mapping[str, MeasuredBound], measured: Mapping[str, MeasuredBound], loosen: str = ""
) -> tuple[dict[str, MeasuredBound], tuple[Change, ...]]:
    """Return the bounds after a measurement, and what became of each.

    A lower one takes the measurement's place, unless that is of fewer than half the values that set the
    bound. A higher one does so only with a reason to loosen.
    """
    after, changes = dict(known), []
    for result in RESULTS:
        old, new = known.get(result), measured.get(result)
        if new is None:
            if old is not None:
                changes.append(Change(result=result, before=old.ulp, after=old.ulp, said="not measured"))
            continue
        if old is None:
            after[result], said = new, "new"
        elif new.judged_ulp > old.ulp:
            said = "exceeded"
            if loosen:
                said, why = "loosened", f"loosened from {old.ulp} ulp: {loosen}"
                after[result] = replace(new, allowance=old.allowance, reason=why)
        elif new.ulp >= old.ulp:
            said = "kept"
        elif (new.mode, new.device) != (old.mode, old.device):
            said = f"kept: it was measured on {old.device} ({old.mode}), this on {new.device} ({new.mode})"
        elif 2 * new.outputs < old.outputs:
            said = f"kept: {new.outputs} values are too few beside the {old.outputs} that set it"
        else:
            after[result], said = replace(new, allowance=old.allowance), "tightened"
        before = None if old is None else old.ulp
        now = after[result].ulp
        changes.append(Change(result=result, before=before, after=now, said=said))
    return after, tuple(changes)
