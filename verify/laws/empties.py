"""How an empty segment is written down influences no bit."""

from __future__ import annotations

from fuzz.bits import Stream
from verify.laws.conditions import segments_of
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import EMPTIES, chosen, written_over
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("empties", trial)
    empty = segments_of(trial.case).empty
    rows = empty.any(-1)
    if not bool(rows.any()):
        return evidence.checked()
    trial = evidence.sensitive()
    stream = Stream(seed=trial.seed)
    first = chosen(stream, "empties", len(EMPTIES), empty)
    step = 1 + chosen(stream, "empties step", len(EMPTIES) - 1, empty)
    for said, choice in (
        ("the empty segments written otherwise", first),
        ("the empty segments written in a third way", (first + step) % len(EMPTIES)),
    ):
        returned = evidence.call(written_over(trial.case, empty, EMPTIES, choice), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, evidence.everywhere, rows))
    return evidence.checked()


LAW = Law(
    name="empties",
    promise="writing empty segments in another of their encodings changes no bit",
    check=_check,
)
