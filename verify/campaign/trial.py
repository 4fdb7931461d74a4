"""One case through the kernel, the oracle, the judge and the laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.bounds import Bounds
from verify.campaign.cells import Cells
from verify.campaign.jobs import Job
from verify.campaign.measure import strata_of
from verify.campaign.outcome import Outcome
from verify.campaign.regimes import regimes_of
from verify.diagnosis import diagnose
from verify.judge import Judged, judge, keeps_fp32
from verify.laws import LAWS, Trial
from verify.observed import Fault, FaultKind
from verify.oracle.evaluate import evaluate
from verify.oracle.target import Base
from verify.oracle.values import Exact
from verify.subjects.call import Call, call_subject
from verify.subjects.convention import SEGMENTS, Convention
from verify.subjects.load import Subject
from verify.subjects.recast import recast

# Laws that hold within the bounds: a kernel of wider bounds may keep them there.
_WITHIN_BOUNDS = {"shift", "scale", "mass", "constant", "hull", "single"}
_ARITHMETIC = {FaultKind.WRONG_VALUE, FaultKind.WRONG_LSE}


class Bench:
    """What a worker tries cases with: the kernel, what it is judged by, and how it says what it is doing."""

    def __init__(
        self,
        subject: Subject,
        bounds: Bounds,
        *,
        cores: int = 1,
        flushing: bool = False,
        calling: Callable[[], None] = lambda: None,
        returned: Callable[[], None] = lambda: None,
    ) -> None:
        """Take a loaded kernel; `calling` and `returned` are called around each of its calls.

        It runs with subnormals flushed if `flushing`; the oracle's exact tier shares `cores` processes.
        """
        self.subject = subject
        self.bounds = bounds.of(subject.convention.base, subject.convention.lse_base)
        self._cores = cores
        self._flushing = flushing
        self._calling = calling
        self._returned = returned
        self._cells = Cells()

    def run(self, job: Job, case: MergeCase, exact: Exact | None = None) -> Outcome:
        """Call the kernel on the job's case, which is on its device, and judge every value it returned.

        The case is recast as the kernel's convention can say it. `exact` are the case's exact values where
        they are known already.
        """
        case = recast(case, self.subject.convention)
        outcome = Outcome(case=job.name, family=job.family, dtype=case.out_dtype)
        reason = self.subject.capabilities.unsupported(case)
        if reason:
            return replace(outcome, unsupported=reason)
        call = self._call(case)
        if call.returned is None:
            return replace(outcome, faults=call.faults)
        exact = exact or solve(case, self._cores, self.subject.convention)
        judged = judge(case, call.returned, exact, self.bounds)
        faults = call.faults + (self._diagnosed(case, call, exact, judged) if job.diagnose else judged.faults)
        asked = bool(faults) and all(fault.kind in _ARITHMETIC for fault in faults)
        outcome = replace(
            outcome,
            outputs=call.returned.output.numel(),
            faults=faults,
            strata=strata_of(
                judged, family=job.family, domain=case.domain.value, dtype=case.out_dtype, case=job.name
            ),
            regimes=regimes_of(case, judged, exact, self.bounds.base, self.bounds.lse_base or Base.E),
            values=exact.output.kind.numel() + exact.lse.kind.numel(),
            tiers=exact.tiers,
            bits=exact.bits,
            out_of_domain=judged.out_of_domain,
            keeps_fp32=keeps_fp32(case, call.returned, exact, self.bounds) if asked else None,
            cells=self._cells.reached(case, judged) if job.stream is not None else (),
        )
        return self._lawful(outcome, job, case, call)

    def _diagnosed(self, case: MergeCase, call: Call, exact: Exact, judged: Judged) -> tuple[Fault, ...]:
        """Return the faults of values with what they are consistent with."""
        assert call.returned is not None
        failed = {"output": judged.output.failed, "lse": judged.lse.failed}
        said = diagnose(case, call.returned, exact, failed, self.subject.convention)
        return tuple(replace(fault, diagnosis=said[fault.result]) for fault in judged.faults)

    def _lawful(self, outcome: Outcome, job: Job, case: MergeCase, call: Call) -> Outcome:
        """Add what the job's laws found."""
        faults, checked = list(outcome.faults), {}
        assert call.returned is not None
        for name in job.laws:
            if name not in self.subject.laws or any(fault.lost_process for fault in faults):
                continue
            trial = Trial(
                case=case,
                returned=call.returned,
                bounds=self.bounds,
                exact=self.subject.capabilities.exact,
                seed=job.seed,
                call=self._variant,
                into=self._into if self.subject.takes_outputs else None,
                faults=call.faults,
            )
            found = LAWS[name].check(trial)
            checked[name] = found.rows
            faults += found.faults
        broken = {fault.detector.removeprefix("law ") for fault in faults[len(outcome.faults) :]}
        keeps_fp32 = outcome.keeps_fp32 if broken <= _WITHIN_BOUNDS else False
        return replace(outcome, faults=tuple(faults), laws=checked, keeps_fp32=keeps_fp32)

    def _variant(self, case: MergeCase) -> Call:
        """Call the kernel on a law's case, unless it does not declare to support that."""
        case = recast(case, self.subject.convention)
        return (
            Call(returned=None, faults=())
            if self.subject.capabilities.unsupported(case)
            else self._call(case)
        )

    def _into(self, case: MergeCase) -> Call:
        return self._call(case, into=True)

    def _call(self, case: MergeCase, *, into: bool = False) -> Call:
        self._calling()
        with _subnormals(self._flushing):
            call = call_subject(self.subject, case, into=into)
        if (
            call.faults
            and not any(f.lost_process for f in call.faults)
            and not _usable(case.segm_output.device)
        ):
            call = Call(returned=None, faults=tuple(_lost(fault) for fault in call.faults))
        self._returned()
        return call


def solve(case: MergeCase, cores: int, convention: Convention = SEGMENTS) -> Exact:
    """Ask the oracle; its exact tier shares so many processes. An lse that nobody gives is asked for in e."""
    return evaluate(
        case.segm_output,
        case.segm_max,
        case.segm_expsum,
        case.active,
        FORMATS[case.out_dtype],
        FORMATS["float32"],
        base=convention.base,
        lse_base=convention.lse_base or Base.E,
        processes=cores,
    )


def flushes_subnormals() -> bool:
    """Tell whether this thread flushes subnormal results to zero."""
    return bool(torch.tensor(2.0**-126) * 0.5 == 0.0)


@contextmanager
def _subnormals(flushing: bool) -> Iterator[None]:
    """Start every call in one mode, so that none depends on the calls before it; judge without flushing."""
    torch.set_flush_denormal(flushing)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _lost(fault: Fault) -> Fault:
    return replace(fault, lost_process=True)


def _usable(device: torch.device) -> bool:
    """Tell whether the device still answers: after an illegal access a CUDA context never does."""
    if device.type != "cuda":
        return True
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        return False
    return True
