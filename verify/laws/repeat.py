"""A kernel gives the same bits every time."""

from __future__ import annotations

import torch

from fuzz.case import MergeCase
from verify.laws.conditions import longest_length, with_values
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.unchanged import unchanged
from verify.observed import FaultKind


def _check(trial: Trial) -> Checked:
    evidence = Evidence("repeat", trial, FaultKind.NONDETERMINISTIC)
    trial = evidence.sensitive()
    demands = unchanged(trial, evidence.everywhere)
    again = evidence.call(trial.case, said := "a second call")
    if again is not None:
        evidence.demand(again, said, *demands)
    # In between another case of the same shape, by which whatever the kernel has kept would be replaced.
    evidence.call(_another(trial.case), "a call on other values")
    third = evidence.call(trial.case, said := "a third call")
    if third is not None:
        evidence.demand(third, said, *demands)
    return evidence.checked()


def _another(case: MergeCase) -> MergeCase:
    lengths = torch.where(case.seq_lens > 1, 1, longest_length(case)).to(case.seq_lens.dtype)
    return with_values(case, o=-case.segm_output, lengths=lengths)


LAW = Law(
    name="repeat",
    promise="the same call gives the same bits, also after a call on other values",
    check=_check,
)
