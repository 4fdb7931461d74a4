"""Gather what one law finds on one trial: run variants, compare, keep the worst of each result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.laws.demand import Demand, Place, agrees, worst
from verify.laws.law import Called, Checked, Trial
from verify.laws.order import sensitive_to_order
from verify.laws.tolerance import LSE_FORMAT
from verify.observed import Fault, FaultKind, Returned


class Evidence:
    """What one law has found so far."""

    def __init__(self, law: str, trial: Trial, kind: FaultKind = FaultKind.BROKEN_LAW) -> None:
        self._detector = f"law {law}"
        self._trial = trial
        self._kind = kind
        self._worst: dict[str, tuple[float, Fault]] = {}
        self._passed: list[Fault] = []
        self._lost = False
        device = trial.returned.lse.device
        self._rows = torch.zeros(trial.case.T, trial.case.H, dtype=torch.bool, device=device)
        self.everywhere = Place(
            tokens=torch.arange(trial.case.T, device=device), heads=torch.arange(trial.case.H, device=device)
        )
        """The place of a variant whose rows stand where they stood."""

    def sensitive(self, changed: MergeCase | None = None, said: str = "") -> Trial:
        """Return the trial to compare with: of the case in which half of the rows feel the order of addition.

        `changed` is the case to start from, where it is another than the trial's; `said` is what was changed.
        It is the trial as it was where nothing changes, or where that call brings nothing to compare with.
        """
        case = self._trial.case if changed is None else changed
        cancelling = sensitive_to_order(case, self._trial.seed)
        if cancelling is not None:
            case, said = cancelling, " and ".join(filter(None, (said, "sums that cancel in some rows")))
        called = self._called(case, said) if said else None
        if called is not None and called.returned is not None:
            self._trial = replace(
                self._trial,
                case=case,
                returned=called.returned,
                faults=(*self._trial.faults, *called.faults),
                name=f"the case with {said}",
            )
        return self._trial

    def call(
        self,
        variant: MergeCase,
        said: str,
        *,
        may_fail: Callable[[Called], bool] = lambda called: False,
        by: Callable[[MergeCase], Called] | None = None,
    ) -> Returned | None:
        """Run the kernel on a variant, and pass on the faults that the case itself did not show.

        Whoever repeats one has to ask this law, so that it is the detector. `may_fail` says which calls are
        forgiven; `by` is the call, where it is another than the trial's. Once a call has cost the process,
        there are no more.
        """
        called = self._called(variant, said, may_fail, by)
        return None if called is None else called.returned

    def _called(
        self,
        variant: MergeCase,
        said: str,
        may_fail: Callable[[Called], bool] = lambda called: False,
        by: Callable[[MergeCase], Called] | None = None,
    ) -> Called | None:
        if self._lost:
            return None
        called = (by or self._trial.call)(variant)
        if not may_fail(called):
            self._pass_on(called.faults, said)
        self._lost = any(fault.lost_process for fault in called.faults)
        return called

    def _pass_on(self, faults: tuple[Fault, ...], said: str) -> None:
        known = {fault.alike for fault in (*self._trial.faults, *self._passed)}
        self._passed += [
            replace(fault, detector=self._detector, message=f"with {said}, {fault.message}")
            for fault in faults
            if fault.alike not in known
        ]

    def demand(self, returned: Returned, said: str, *demands: Demand, place: Place | None = None) -> None:
        """Compare results with what is demanded of them; `said` is what was changed, as in `with …`."""
        for demand in demands:
            self._one(returned, said, demand, place or self.everywhere)

    def _one(self, returned: Returned, said: str, demand: Demand, place: Place) -> None:
        of_case = self._trial.returned
        if demand.result == "lse":
            got, missing, before = returned.lse, returned.unwritten_lse, of_case.unwritten_lse
            fmt = LSE_FORMAT
        else:
            got, missing, before = returned.output, returned.unwritten_output, of_case.unwritten_output
            fmt = FORMATS[self._trial.case.out_dtype]
        mask = torch.ones_like(missing) if demand.mask is None else demand.mask
        self._spoke(mask if mask.ndim == 2 else mask.any(-1), place)
        # What was not written agrees with nothing, unless the case itself has that fault already.
        failed = mask & (~agrees(got, demand, fmt) | (missing & ~place.of(before)))
        if not bool(failed.any()):
            return
        size, fault = worst(got, failed, demand, fmt, place, said)
        fault = replace(fault, kind=self._kind, detector=self._detector, cause=self._detector)
        if demand.result in self._worst:
            largest, other = self._worst[demand.result]
            count = fault.count + other.count
            size, fault = (size, fault) if size > largest else (largest, other)
            fault = replace(fault, count=count)
        self._worst[demand.result] = (size, fault)

    def _spoke(self, rows: Tensor, place: Place) -> None:
        tokens, heads = rows.nonzero(as_tuple=True)
        self._rows[place.tokens[tokens], place.heads[heads]] = True

    def checked(self) -> Checked:
        """Return what was found."""
        own = tuple(fault for _, fault in self._worst.values())
        return Checked(rows=int(self._rows.sum()), faults=(*own, *self._passed))
