"""A row's bits do not depend on what the other rows hold."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.conditions import longest_length
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import NASTY, chosen, written_over
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("neighbours", trial)
    if trial.case.T * trial.case.H < 2:
        return evidence.checked()
    trial = evidence.sensitive()
    case, stream = trial.case, Stream(seed=trial.seed)
    kept = _half(stream, trial.returned.lse)
    # The longest row, or how many have nothing to do, may decide how a kernel works: where lengths are free
    # they are long in one half, and mostly nothing in the other.
    most = longest_length(case)
    mixed = (0, -1, 1, most, torch.iinfo(case.seq_lens.dtype).max)
    idle = stream.pick("neighbours idle", ((0, -1), (0, -1), (0, -1), mixed))
    for said, rows, lengths in (
        ("other values in half of the rows", kept, (most,)),
        ("other values in the other half", ~kept, idle),
    ):
        returned = evidence.call(_spoiled(case, rows, stream, lengths), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, evidence.everywhere, rows))
    return evidence.checked()


def _half(stream: Stream, rows: Tensor) -> Tensor:
    """Choose about half of the rows, not all and not none; of a third of the tokens or of all whole ones."""
    some = 1 if len(rows) > 1 and stream.pick("neighbours all whole", (True, True, True, False)) else 3
    whole = chosen(stream, "neighbours whole", some, rows[:, 0]) == 0
    by_token = chosen(stream, "neighbours T", 2, rows[:, 0])[:, None].expand(rows.shape)
    kept = torch.where(whole[:, None], by_token, chosen(stream, "neighbours row", 2, rows)) == 1
    if some == 1:
        kept[0], kept[-1] = True, False
    kept[0, 0], kept[-1, -1] = True, False
    return kept


def _spoiled(case: MergeCase, kept: Tensor, stream: Stream, free: tuple[int, ...]) -> MergeCase:
    rows = ~kept[..., None].expand(case.segm_max.shape)
    variant = written_over(case, rows, NASTY, chosen(stream, "neighbours", len(NASTY), rows))
    # Where no head of a token is kept, its length is free as well.
    lengths = torch.tensor(free, device=kept.device)
    other = lengths[chosen(stream, "neighbours L", len(lengths), case.seq_lens)].to(case.seq_lens.dtype)
    return replace(variant, seq_lens=torch.where(kept.any(-1), case.seq_lens, other))


LAW = Law(
    name="neighbours",
    promise="NaN, zeros, huge values and other lengths in some rows leave the bits of the others",
    check=_check,
)
