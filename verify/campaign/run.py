"""One run: send the scheduled cases through the pool, write down and gather what comes back, report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from importlib import metadata

from reports.records import Report
from verify.campaign.environment import describe_tool
from verify.campaign.findings import write_findings
from verify.campaign.gather import Gathered
from verify.campaign.inline import Inline
from verify.campaign.interrupts import ignore_interrupts, one_interrupt
from verify.campaign.jobs import Job
from verify.campaign.journal import NAME, Journal
from verify.campaign.outcome import Outcome
from verify.campaign.plan import Plan
from verify.campaign.pool import Pool, WorkersLostError
from verify.campaign.progress import Progress
from verify.campaign.schedule import Schedule
from verify.campaign.station import StationSettings
from verify.campaign.summary import BUDGET, FIRST_FAULT, INTERRUPT, LOST_PROCESSES, Ending, summarise

MOST_LOST = 8
"""Lost processes that end the hunt: each costs seconds, a hang minutes, and more of them tell no more."""


def run_campaign(plan: Plan, progress: Progress) -> Report:
    """Run the plan and return its report; SubjectError when the kernel cannot be loaded.

    Ctrl-C ends the run or the shrinking, not the report: status is then `interrupted`. Then, and after too
    many lost processes, what was found is stored as it was drawn: to shrink it could cost as many again.
    JournalError when the journal cannot be written or gone on with.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    with one_interrupt(), _kernel(plan) as pool, _journal(plan, pool) as journal:
        run = Run(plan, pool, journal, progress)
        folder = plan.out / "findings"
        store = partial(write_findings, run.gathered.faults, plan, folder, progress)
        try:
            stopped_by = run.judge()
            findings = store(None if stopped_by == LOST_PROCESSES else pool)
        except (KeyboardInterrupt, WorkersLostError) as error:
            ignore_interrupts()
            stopped_by = INTERRUPT if isinstance(error, KeyboardInterrupt) else LOST_PROCESSES
            findings = store(None)
        ignore_interrupts()  # from here on the report is only written
        ending = Ending(started=started, elapsed_s=time.monotonic() - clock, stopped_by=stopped_by)
        return summarise(plan, run.schedule, pool, run.gathered, findings, ending)


def _kernel(plan: Plan) -> Pool | Inline:
    # On CPUs there is a worker for each core; one that has a GPU shares the cores with the other GPUs' only.
    cores = 1 if plan.device == "cpu" else max(1, (os.cpu_count() or 1) // len(plan.devices))
    settings = [
        StationSettings(
            kernel=plan.kernel, device=device, bounds=plan.bounds, cores=cores, convention=plan.convention
        )
        for device in plan.devices
    ]
    return Pool(settings, plan.timeout_s) if plan.isolated else Inline(settings[0])


def _journal(plan: Plan, pool: Pool | Inline) -> Journal:
    header = {
        **plan.identity(),
        "arguments": list(plan.arguments),
        "source": pool.subject["source_sha256"],
        "declared": pool.subject["declared"],
        "revision": describe_tool()["revision"],
        **{library: metadata.version(library) for library in ("hypothesis", "torch")},
    }
    return Journal(plan.out / NAME, header, resume=plan.resume)


class Run:
    """The judging part of a run."""

    def __init__(self, plan: Plan, pool: Pool | Inline, journal: Journal, progress: Progress) -> None:
        self._plan = plan
        self._pool = pool
        self._journal = journal
        self._progress = progress
        self.gathered = Gathered()
        self.schedule = Schedule(plan, self.gathered.archive)
        self._deadline = time.monotonic() + plan.budget_s if plan.budget_s is not None else None
        self._planned = self.schedule.planned()
        self._seen = self._failing = self._lost = 0
        self._stopped_by = ""

    def judge(self) -> str:
        """Run the scheduled cases; return what ended that before the last one, empty for nothing."""
        for batch in self.schedule.batches():
            # Asked here too: a batch without a case must not keep an endless schedule going.
            self._stopped_by = self._reason()
            if not self._stopped_by:
                self._run(batch)
            if self._stopped_by:
                break
        return self._stopped_by

    def _run(self, batch: Iterator[Job]) -> None:
        """Run one batch; workers finish in any order, and what is gathered must not depend on it."""
        under_way: dict[str, tuple[int, Job]] = {}
        waiting: dict[int, tuple[Outcome, Job]] = {}

        def jobs() -> Iterator[Job]:
            for rank, job in enumerate(batch):
                # What an earlier run judged counts as if it came back now, though it needs no time.
                known = self._journal.outcomes.get(job.name)
                if known is not None:
                    waiting[rank] = known, job
                    self._seen += 1
                    self._failing += bool(known.faults)
                    self._tell()
                    continue
                self._stopped_by = self._reason()
                if self._stopped_by:
                    return
                under_way[job.name] = rank, job
                yield job

        following = 0
        try:
            for outcome in self._pool.run(jobs()):
                rank, job = under_way.pop(outcome.case)
                self._journal.add(outcome, job)
                self._count(outcome)
                waiting[rank] = outcome, job
                while following in waiting:
                    self.gathered.add(*waiting.pop(following))
                    following += 1
                self._tell()
        finally:
            # What came back counts, even where an earlier case never will.
            for rank in sorted(waiting):
                self.gathered.add(*waiting[rank])

    def _count(self, outcome: Outcome) -> None:
        self._seen += 1
        self._failing += bool(outcome.faults)
        self._lost += outcome.lost_process

    def _tell(self) -> None:
        said = f"cases, {self.gathered.outputs} outputs, {self.gathered.failed} failing"
        self._progress(self._seen, self._planned, said)

    def _reason(self) -> str:
        if self._lost >= MOST_LOST:
            return LOST_PROCESSES
        if self._plan.stop_at_first and self._failing:
            return FIRST_FAULT
        return BUDGET if self._deadline is not None and time.monotonic() > self._deadline else ""
