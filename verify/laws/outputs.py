"""Handed its outputs, a kernel fills them with the bits that it returns otherwise, and nothing beside."""

from __future__ import annotations

from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("outputs", trial)
    if trial.into is None or trial.case.outputs == 0:
        return evidence.checked()
    trial = evidence.sensitive()
    returned = evidence.call(trial.case, said := "outputs handed over, with gaps between rows", by=trial.into)
    if returned is not None:
        evidence.demand(returned, said, *unchanged(trial, evidence.everywhere))
    return evidence.checked()


LAW = Law(
    name="outputs",
    promise="outputs handed over, whatever their strides, get the same bits, and nothing else is written",
    check=_check,
)
