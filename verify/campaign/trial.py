"""One case through the kernel, the oracle and the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from reports.strata import Stratum
from verify.bounds import Bounds
from verify.campaign.measure import strata_of
from verify.judge import judge
from verify.observed import Fault
from verify.oracle.evaluate import evaluate
from verify.subjects.call import call_subject
from verify.subjects.load import Subject

EXPLICIT = "explicit"
"""The family of a case that no recipe made."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one case showed; plain data that crosses a process boundary."""

    case: str
    """The case as verify.replay takes it: SEED/NUMBER or a file."""
    family: str
    """Family of the case."""
    dtype: str
    """Output dtype of the case."""
    outputs: int
    """Output values judged, T·H·R; 0 when the call gave nothing to judge."""
    faults: tuple[Fault, ...]
    """At most one per kind and result."""
    strata: tuple[Stratum, ...] = ()
    """The measured errors of output and lse."""
    tiers: dict[str, int]
    """Values that each tier of the oracle decided."""
    bits: int = 0
    """Most bits the oracle used."""

    @property
    def lost_process(self) -> bool:
        """Whether the process that ran the case cannot run another."""
        return any(fault.lost_process for fault in self.faults)


def run_trial(
    subject: Subject,
    case: MergeCase,
    name: str,
    bounds: Bounds,
    *,
    flushing: bool = False,
    returned: Callable[[], None] = lambda: None,
) -> Outcome:
    """Call the kernel on the case and judge every value it returned.

    The kernel runs with subnormals flushed if `flushing`; `returned` is called when its call is over.
    """
    family = case.recipe.family if case.recipe else EXPLICIT
    with _subnormals(flushing):
        call = call_subject(subject, case)
    faults = call.faults
    if not any(fault.lost_process for fault in faults) and not _usable(case.segm_output.device):
        faults = tuple(replace(fault, lost_process=True) for fault in faults)
    returned()
    if call.returned is None:
        return Outcome(case=name, family=family, dtype=case.out_dtype, outputs=0, faults=faults, tiers={})
    exact = evaluate(
        case.segm_output,
        case.segm_max,
        case.segm_expsum,
        case.active,
        FORMATS[case.out_dtype],
        FORMATS["float32"],
        processes=1,  # the workers already share the cores
    )
    judged = judge(case, call.returned, exact, bounds)
    return Outcome(
        case=name,
        family=family,
        dtype=case.out_dtype,
        outputs=call.returned.output.numel(),
        faults=faults + judged.faults,
        strata=strata_of(judged, family=family, domain=case.domain.value, dtype=case.out_dtype, case=name),
        tiers=exact.tiers,
        bits=exact.bits,
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


def _usable(device: torch.device) -> bool:
    """Tell whether the device still answers: after an illegal access a CUDA context never does."""
    if device.type != "cuda":
        return True
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        return False
    return True
