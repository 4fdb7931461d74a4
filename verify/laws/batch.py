"""A row's bits do not depend on how many rows there are."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.conditions import segments_of, with_values
from verify.laws.demand import Place
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.unchanged import unchanged

_ROOM = 1 << 24
"""Elements of o that a repeated case may have, where twice the case is not more."""


def rows_of(case: MergeCase, place: Place) -> MergeCase:
    """Return the case that consists of some rows of another, in the order of a place."""
    tokens, heads = place.tokens[:, None], place.heads
    return with_values(
        case,
        o=case.segm_output[tokens, heads],
        m=case.segm_max[tokens, heads],
        s=case.segm_expsum[tokens, heads],
        lengths=case.seq_lens[place.tokens],
    )


def _check(trial: Trial) -> Checked:
    evidence = Evidence("batch", trial)
    if trial.case.T * trial.case.H == 0:
        return evidence.checked()
    for said, place in _variants(trial, evidence.everywhere):
        returned = evidence.call(rows_of(trial.case, place), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, place), place=place)
    return evidence.checked()


def _variants(trial: Trial, place: Place) -> Iterator[tuple[str, Place]]:
    case, stream = trial.case, Stream(seed=trial.seed)
    if case.T * case.H > 1:
        # An order of addition can only show where there are three or more to add up.
        many = (segments_of(case).live.sum(-1) > 2).long()
        ranks = (
            stream.below("batch alone", 1 << 32, case.T, case.H).to(many.device) + (many << 32)
        ).flatten()
        token, head = divmod(int(ranks.argmax()), case.H)
        yield "one row alone", Place(tokens=place.tokens[token, None], heads=place.heads[head, None])
        odd = [int(stream.below(f"batch {name}", min(2, n), 1)) for name, n in (("T", case.T), ("H", case.H))]
        yield "every other row", Place(tokens=place.tokens[odd[0] :: 2], heads=place.heads[odd[1] :: 2])
    copies = stream.pick("batch copies", (2, 3, 9))
    copies = max(2, min(copies, _ROOM // max(1, case.segm_output.numel())))
    yield f"all rows {copies} times", Place(tokens=torch.cat([place.tokens] * copies), heads=place.heads)


LAW = Law(
    name="batch",
    promise="a row alone, a part of the batch and a larger batch give each row the same bits",
    check=_check,
)
