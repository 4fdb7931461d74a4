"""Demands of the laws that change a case by exact arithmetic: equal bits, or equal within both bounds."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fuzz.bits import power_of_two
from fuzz.case import MergeCase
from verify.laws.demand import Demand
from verify.laws.law import Trial
from verify.laws.tolerance import Tolerance
from verify.observed import Returned

_LN2 = math.log(2.0)


class Algebra:
    """A case and an exactly changed one, with the results of both."""

    def __init__(self, trial: Trial, variant: MergeCase, returned: Returned) -> None:
        self._exact = trial.exact
        self._before, self._after = trial.returned, returned
        self._of_case = Tolerance(trial.case, trial.bounds)
        self._of_variant = Tolerance(variant, trial.bounds)

    def output_times(self, exponents: Tensor, mask: Tensor) -> Demand:
        """Demand that the output is the case's times 2^e, where `mask` [T, H, R] says so."""
        factor = power_of_two(exponents)
        allowed = None
        if not self._exact:
            mask = mask & self._of_case.outputs & self._of_variant.outputs
            allowed = self._of_case.output(self._before.output) * factor
            allowed = allowed + self._of_variant.output(self._after.output)
        want = self._before.output.double() * factor
        return Demand(result="output", want=want, source="the case itself gives", allowed=allowed, mask=mask)

    def lse_plus(self, exponents: Tensor, mask: Tensor) -> Demand:
        """Demand that the lse is the case's plus e·ln 2 [T, H] within both bounds."""
        added = exponents.double() * _LN2
        before = self._before.lse.double()
        allowed = self._of_case.lse(self._before.lse) + self._of_variant.lse(self._after.lse)
        # The sum that is wanted is rounded here, ln 2 and the product as well: three times 2^-53 at most.
        allowed = allowed + 2.0**-51 * (added.abs() + before.abs())
        return Demand(
            result="lse",
            want=before + added,
            source="the case itself gives",
            allowed=allowed,
            mask=mask & self._of_case.lses & self._of_variant.lses,
        )

    def same_lse(self, mask: Tensor) -> Demand:
        """Demand that the lse is the case's: its bits, or within both bounds."""
        if not self._exact:
            return self.lse_plus(torch.zeros_like(self._before.lse), mask)
        return Demand(result="lse", want=self._before.lse, source="the case itself gives", mask=mask)
