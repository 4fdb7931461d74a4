"""Run jobs over worker processes; a worker that dies or hangs becomes a finding, and a new one goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import connection
from typing import Any

from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.station import Stage, StationSettings
from verify.campaign.worker import Broken, Ready, Refused, Worker
from verify.observed import Fault, FaultKind
from verify.subjects.load import SubjectError

_POLL_S = 0.2
_GRACE_S = 1.0  # for processes that have been told to end, all of them together
_START_S = 120.0  # torch and the suite, on a busy machine with a cold disk
_LOAD_S = 120.0  # triton and the kernel likewise
_COMPILE_S = 900.0  # a kernel with everything unrolled takes minutes, and that is no hang
_JUDGE_S = 900.0  # the largest cases take the oracle seconds

_ENDED = {
    Stage.PREPARING: "before the call, by what an earlier one left behind",
    Stage.CALLING: "during the call",
    Stage.COMPILING: "while it compiled",
    Stage.JUDGING: "after the call, by what it left behind",
}


class InternalError(RuntimeError):
    """The suite itself failed; nothing may be concluded about the kernel."""


class WorkersLostError(InternalError):
    """No worker can be started again after one was lost; what came back before stands."""


class Pool:
    """A worker for each of the settings, which may differ in their device; use as a context manager."""

    def __init__(self, settings: Sequence[StationSettings], timeout_s: float) -> None:
        self._settings = settings
        self._limit_s = {
            Stage.STARTING: _START_S,
            Stage.LOADING: _LOAD_S,
            Stage.PREPARING: _JUDGE_S,
            Stage.CALLING: timeout_s,
            Stage.COMPILING: _COMPILE_S,
            Stage.JUDGING: _JUDGE_S,
        }
        self._workers: list[Worker] = []
        self._opened = False
        self.subject: dict[str, Any] = {}
        self.variables: dict[str, str] = {}

    def __enter__(self) -> Pool:
        """Wait until every worker has loaded the kernel; SubjectError when it cannot be loaded."""
        try:
            for settings in self._settings:
                self._workers.append(Worker(settings))
            while any(worker.stage is not Stage.IDLE for worker in self._workers):
                list(self._step())
        except BaseException:
            self.close()
            raise
        self._opened = True
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.connection.close()  # an idle one ends by itself then
        deadline = time.monotonic() + _GRACE_S
        for worker in self._workers:
            worker.end(max(0.0, deadline - time.monotonic()))
        self._workers.clear()

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order in which they finish.

        A lost worker is replaced when there is a job for it; WorkersLostError when that fails. A job is drawn
        only when a worker is idle or missing, so that the source may stop at whatever came back before.
        """
        job: Job | None = None
        more = True
        while True:
            idle = [worker for worker in self._workers if worker.stage is Stage.IDLE]
            missing = self._missing()
            if job is None and more and (idle or missing):
                job = next(jobs, None)
                more = job is not None
            if job is not None and idle:
                idle[0].submit(job)
                job = None
                continue
            if job is not None and missing:
                self._workers.append(Worker(missing[0]))
            if job is None and all(worker.job is None for worker in self._workers):
                return
            yield from self._step()

    def _missing(self) -> list[StationSettings]:
        """Return the settings for which there is no worker."""
        lacking = Counter(self._settings)
        lacking.subtract(worker.settings for worker in self._workers)
        return list(lacking.elements())

    def run_one(self, job: Job) -> Outcome:
        """Run a single job."""
        return next(self.run(iter([job])))

    def _step(self) -> Iterator[Outcome]:
        """Wait for news and yield the outcomes among them."""
        active = [worker for worker in self._workers if worker.stage is not Stage.IDLE]
        connection.wait([worker.connection for worker in active], timeout=_POLL_S)
        for worker in active:
            # Asked only now: the answer may have come while the caller was busy with another worker's.
            if worker.connection.poll():
                outcome = self._received(worker)
            elif worker.elapsed_s > self._limit_s[worker.stage]:
                outcome = self._overdue(worker)
            else:
                continue
            if outcome is not None:
                yield outcome

    def _received(self, worker: Worker) -> Outcome | None:
        try:
            answer = worker.receive()
        except EOFError:
            return self._ended(worker)
        if isinstance(answer, Outcome):
            if answer.lost_process:
                self._remove(worker, patience_s=0.0)
            return answer
        if isinstance(answer, Ready):
            self.subject, self.variables = answer.subject, answer.variables
        elif isinstance(answer, Refused):
            raise self._unloadable(answer.reason)
        elif isinstance(answer, Broken):
            raise InternalError(answer.trace)
        return None

    def _ended(self, worker: Worker) -> Outcome:
        how = self._remove(worker, patience_s=_GRACE_S)
        if worker.stage is Stage.STARTING:
            raise InternalError(f"a worker ended before it had loaded the suite ({how})")
        if worker.stage is Stage.LOADING:
            spec = worker.settings.kernel
            raise self._unloadable(f"--kernel {spec!r}: importing it ended the process ({how})")
        return _lost(worker, FaultKind.CRASH, f"the process ended {_ENDED[worker.stage]} ({how})")

    def _overdue(self, worker: Worker) -> Outcome:
        limit = self._limit_s[worker.stage]
        self._remove(worker, patience_s=0.0)
        if worker.stage is Stage.CALLING:
            return _lost(worker, FaultKind.TIMEOUT, f"the call did not return within {limit:g} s")
        if worker.stage is Stage.COMPILING:
            return _lost(worker, FaultKind.COMPILE_ERROR, f"compiling did not end within {limit:g} s")
        if worker.stage is Stage.LOADING:
            spec = worker.settings.kernel
            raise self._unloadable(f"--kernel {spec!r}: importing it took over {limit:g} s")
        what = f" case {worker.job.name}" if worker.job is not None else ""
        raise InternalError(f"{worker.stage.name.lower()}{what} took a worker over {limit:g} s")

    def _unloadable(self, reason: str) -> Exception:
        return WorkersLostError(f"no new worker: {reason}") if self._opened else SubjectError(reason)

    def _remove(self, worker: Worker, patience_s: float) -> str:
        self._workers.remove(worker)
        return worker.end(patience_s)


def _lost(worker: Worker, kind: FaultKind, message: str) -> Outcome:
    job = worker.job
    assert job is not None
    fault = Fault(kind=kind, detector="isolation", message=message, lost_process=True)
    return Outcome(case=job.name, family=job.family, dtype=job.dtype, faults=(fault,))
