"""A row's bits do not depend on where it stands."""

from __future__ import annotations

import torch

from fuzz.bits import Stream
from verify.laws.batch import rows_of
from verify.laws.demand import Place
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.unchanged import unchanged


def _check(trial: Trial) -> Checked:
    evidence = Evidence("position", trial)
    if trial.case.T * trial.case.H < 2:
        return evidence.checked()
    trial = evidence.sensitive()
    case, here = trial.case, evidence.everywhere
    stream = Stream(seed=trial.seed)
    order = [stream.words(f"position {name}", n).argsort() for name, n in (("T", case.T), ("H", case.H))]
    mixed = Place(tokens=order[0].to(here.tokens.device), heads=order[1].to(here.heads.device))
    # By one, so that every row changes between even and odd.
    rolled = Place(tokens=torch.roll(here.tokens, 1), heads=torch.roll(here.heads, 1))
    for said, place in (("tokens and heads permuted", mixed), ("tokens and heads rolled by one", rolled)):
        returned = evidence.call(rows_of(case, place), said)
        if returned is not None:
            evidence.demand(returned, said, *unchanged(trial, place), place=place)
    return evidence.checked()


LAW = Law(
    name="position",
    promise="permuting tokens and heads permutes the results",
    check=_check,
)
