"""A row's bits do not depend on how many rows there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.conditions import longest_length, segments_of, with_values
from verify.laws.demand import Place
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.order import FEWEST, sensitive_rows
from verify.laws.unchanged import unchanged

_ROOM = {False: 1 << 24, True: 1 << 29}
"""Elements of o that a repeated case may have, where three times the case is not more, on a CPU and a GPU."""

_MANY = {False: 300, True: 20_000}
"""Rows to repeat a case to, on a CPU and on a GPU: kernels change how they work at some number of rows. An
interpreter takes 10 ms for each."""


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
    trial = evidence.sensitive()
    for said, variant, place, rows in _variants(trial, evidence.everywhere):
        returned = evidence.call(variant, said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, place, rows), place=place)
    return evidence.checked()


def _variants(trial: Trial, here: Place) -> Iterator[tuple[str, MergeCase, Place, Tensor | None]]:
    case, stream = trial.case, Stream(seed=trial.seed)
    for said, place in _parts(case, here, trial.seed) if case.T * case.H > 1 else ():
        yield said, rows_of(case, place), place, None
    rows = case.T * case.H
    copies = stream.pick("batch copies", (2, 3, 9, -(-_MANY[case.segm_output.is_cuda] // rows)))
    room = _ROOM[case.segm_output.is_cuda] // max(1, case.segm_output.numel())
    copies = max(2, min(copies, room - 1))
    # One copy more, of which nothing is asked but to be long: kernels choose how to work by the longest row.
    place = Place(tokens=torch.cat([here.tokens] * (copies + 1)), heads=here.heads)
    variant = rows_of(case, place)
    long = torch.arange(len(place.tokens), device=here.tokens.device) >= copies * case.T
    lengths = torch.where(long, longest_length(case), variant.seq_lens).to(case.seq_lens.dtype)
    asked = ~long[:, None].expand(len(long), case.H)
    yield f"all rows {copies} times beside longer ones", replace(variant, seq_lens=lengths), place, asked


def _parts(case: MergeCase, place: Place, seed: int) -> Iterator[tuple[str, Place]]:
    stream, segments = Stream(seed=seed), segments_of(case)
    # An order of addition can only show where there are three or more to add up; a row that is shorter
    # than the longest is alone with other company than it had.
    many = segments.live.sum(-1) >= FEWEST
    shorter = many & (case.active < case.active.max())[:, None].to(many.device)
    rank = many.long() + shorter.long() + (shorter & sensitive_rows(segments, seed)).long()
    word = stream.below("batch alone", 1 << 32, case.T, case.H).to(many.device)
    token, head = divmod(int(((rank << 32) + word).argmax()), case.H)
    yield "one row alone", Place(tokens=place.tokens[token, None], heads=place.heads[head, None])
    odd = [int(stream.below(f"batch {name}", min(2, n), 1)) for name, n in (("T", case.T), ("H", case.H))]
    yield "every other row", Place(tokens=place.tokens[odd[0] :: 2], heads=place.heads[odd[1] :: 2])


LAW = Law(
    name="batch",
    promise="a row alone, a part of the batch and a larger batch give each row the same bits",
    check=_check,
)
