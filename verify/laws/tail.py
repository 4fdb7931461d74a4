"""What stands in a segment that was never written influences no bit."""

from __future__ import annotations

from fuzz.bits import Stream
from verify.laws.conditions import segments_of
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import NASTY, chosen, written_over
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("tail", trial)
    unwritten = segments_of(trial.case).inactive
    rows = unwritten.any(-1)
    if not bool(rows.any()):
        return evidence.checked()
    trial = evidence.sensitive()
    stream = Stream(seed=trial.seed)
    first = chosen(stream, "tail", len(NASTY), unwritten)
    # Of one kind in each row first, so that one bad value is not always drowned by another; then mixed.
    for said, choice in (
        ("the inactive segments refilled", first[..., :1].expand(first.shape)),
        ("the inactive segments refilled otherwise", (first + 1) % len(NASTY)),
    ):
        returned = evidence.call(written_over(trial.case, unwritten, NASTY, choice), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, evidence.everywhere, rows))
    return evidence.checked()


LAW = Law(
    name="tail",
    promise="refilling the segments that were never written changes no bit",
    check=_check,
)
