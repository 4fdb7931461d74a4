"""A row's bits do not depend on what the other rows hold."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import NASTY, chosen, written_over
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("neighbours", trial)
    case, stream = trial.case, Stream(seed=trial.seed)
    if case.T * case.H < 2:
        return evidence.checked()
    kept = _half(stream, trial.returned.lse)
    for said, rows in (("other values in half of the rows", kept), ("other values in the other half", ~kept)):
        returned = evidence.call(_spoiled(case, rows, stream), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, evidence.everywhere, rows))
    return evidence.checked()


def _half(stream: Stream, rows: Tensor) -> Tensor:
    """Choose about half of the rows, but not all and not none; of a third of the tokens, whole ones."""
    whole = chosen(stream, "neighbours whole", 3, rows[:, 0]) == 0
    by_token = chosen(stream, "neighbours T", 2, rows[:, 0])[:, None].expand(rows.shape)
    kept = torch.where(whole[:, None], by_token, chosen(stream, "neighbours row", 2, rows)) == 1
    kept[0, 0], kept[-1, -1] = True, False
    return kept


def _spoiled(case: MergeCase, kept: Tensor, stream: Stream) -> MergeCase:
    rows = ~kept[..., None].expand(case.segm_max.shape)
    variant = written_over(case, rows, NASTY, chosen(stream, "neighbours", len(NASTY), rows))
    # Where no head of a token is kept, its length is free as well.
    most = torch.iinfo(case.seq_lens.dtype).max
    lengths = torch.tensor((0, -1, 1, min(case.S * case.tile_size, most), most), device=kept.device)
    other = lengths[chosen(stream, "neighbours L", len(lengths), case.seq_lens)].to(case.seq_lens.dtype)
    return replace(variant, seq_lens=torch.where(kept.any(-1), case.seq_lens, other))


LAW = Law(
    name="neighbours",
    promise="NaN, zeros, huge values and other lengths in some rows leave the bits of the others",
    check=_check,
)
