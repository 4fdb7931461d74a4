"""Bounds that speak of one value alone, and that nothing keeps: so a run tells what came back there."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fuzz.case import MergeCase
from verify.bounds.bound import Bounds, SecondTerms


@dataclass(frozen=True, kw_only=True)
class Single(Bounds):
    """Bounds for one place of a case: whatever stands there fails, every other value is left alone."""

    where: tuple[int, ...]
    """(token, head, column) of an output, (token, head) of an lse."""

    def second_terms(self, case: MergeCase) -> SecondTerms:
        """Return 0 at the place and +inf everywhere else."""
        device = case.segm_output.device
        output = torch.full((case.T, case.H, case.R), torch.inf, dtype=torch.float64, device=device)
        lse = torch.full((case.T, case.H), torch.inf, dtype=torch.float64, device=device)
        (output if len(self.where) == 3 else lse)[self.where] = 0.0
        return SecondTerms(output=output, lse=lse)


def only(where: tuple[int, ...]) -> Single:
    """Return the bounds for one place; no error is as small as their first term, which is negative."""
    return Single(name="single", file="", sha256="", ulp=-1.0, where=where)
