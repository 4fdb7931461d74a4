"""How an empty segment is written down influences no bit."""

from __future__ import annotations

import torch

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.conditions import segments_of
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import EMPTIES, chosen, written_over
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence, stream = Evidence("empties", trial), Stream(seed=trial.seed)
    case, said = trial.case, ""
    if not bool(segments_of(case).empty.any()):
        case, said = _emptied(case, stream), "a segment of each row emptied"
    empty = segments_of(case).empty
    rows = empty.any(-1)
    if not bool(rows.any()):
        return evidence.checked()
    trial = evidence.sensitive(case, said)
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


def _emptied(case: MergeCase, stream: Stream) -> MergeCase:
    """Return the case with one segment of each row of two or more active ones emptied."""
    active = case.active[:, None].expand(case.T, case.H)
    at = chosen(stream, "empties at", 1 << 20, active) % active.clamp(min=1)
    one = torch.arange(case.S, device=active.device) == at[..., None]
    where = one & (active > 1)[..., None]
    return written_over(case, where, EMPTIES, chosen(stream, "empties by", len(EMPTIES), where))


LAW = Law(
    name="empties",
    promise="writing empty segments in another of their encodings changes no bit",
    check=_check,
)
