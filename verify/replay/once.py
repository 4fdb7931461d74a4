"""One case through a kernel: what it returned at a place, and the least that shows the same."""

from __future__ import annotations

import ast
from dataclasses import replace

from fuzz.case import MergeCase
from reports.strata import Stratum
from verify.bounds import Bounds
from verify.bounds.single import only
from verify.campaign.inline import Inline
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.pool import Pool
from verify.campaign.progress import Progress
from verify.campaign.shrink import Shrunk, shrink
from verify.observed import Fault

ATTEMPTS, COSTLY = 1000, 50
"""Calls that shrinking may take, and where each costs the process."""

Where = tuple[int, ...]
"""(token, head, column) of an output, (token, head) of an lse."""


def returned_at(pool: Pool | Inline, job: Job, where: Where) -> Fault | None:
    """Return what the kernel gives at a place, by the bounds `asking(where)`; None where it gives nothing."""
    outcome = pool.run_one(replace(job, laws=()))
    found = (fault for fault in outcome.faults if fault.where == where)
    # Its bound is that of a question; by what the value is judged, this says nothing.
    return next((replace(fault, bound=None) for fault in found), None)


def asking(where: Where) -> Bounds:
    """Return the bounds of the station at which `returned_at` is to be asked."""
    return only(where)


def nearest(outcome: Outcome) -> tuple[Where, Stratum] | None:
    """Return the value that came nearest to its bound, and its stratum; None where none was judged."""
    told = [stratum for stratum in outcome.strata if stratum.witness]
    if not told:
        return None
    worst = max(told, key=lambda stratum: stratum.margin)
    return tuple(ast.literal_eval(worst.witness.rpartition(" at ")[2])), worst


def reduced(
    pool: Pool | Inline, job: Job, case: MergeCase, fault: Fault, progress: Progress
) -> Shrunk | None:
    """Return the least case that shows the fault; None where it does not show again.

    Of the laws only the one that noticed it is checked.
    """
    laws = tuple(law for law in job.laws if fault.detector == f"law {law}")
    limit = COSTLY if fault.lost_process else ATTEMPTS
    done = 0

    def attempt(smaller: MergeCase) -> tuple[Fault, ...]:
        nonlocal done
        done += 1
        progress(done, None, "attempts at a smaller case")
        return pool.run_one(replace(job, name="shrinking", input=smaller, laws=laws)).faults

    return shrink(case, fault, attempt, limit)
