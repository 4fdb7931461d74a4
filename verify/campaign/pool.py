"""Run jobs over worker processes; a worker that dies or hangs becomes a finding, and a new one goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from multiprocessing import connection

from verify.campaign.trial import Outcome
from verify.campaign.worker import Broken, Job, Ready, Refused, Worker, WorkerSettings
from verify.observed import Fault, FaultKind
from verify.subjects.load import SubjectError

_POLL_S = 0.2


class InternalError(RuntimeError):
    """The suite itself failed; nothing may be concluded about the kernel."""


class Pool:
    """A fixed number of workers; use as a context manager."""

    def __init__(self, settings: WorkerSettings, workers: int, timeout_s: float) -> None:
        self._settings = settings
        self._timeout_s = timeout_s
        self._workers: list[Worker] = []
        self._starts_left = 3 * workers
        self.subject: dict[str, str] = {}
        for _ in range(workers):
            self._start()

    def __enter__(self) -> Pool:
        """Wait until every worker has loaded the kernel; SubjectError when it cannot be loaded."""
        try:
            for worker in self._workers:
                self._await_ready(worker)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order in which they finish."""
        idle = list(self._workers)
        busy: list[Worker] = []
        waiting = True
        while True:
            while waiting and idle:
                job = next(jobs, None)
                if job is None:
                    waiting = False
                    break
                worker = idle.pop()
                worker.submit(job)
                busy.append(worker)
            if not busy:
                return
            ready = connection.wait([worker.connection for worker in busy], timeout=_POLL_S)
            for worker in list(busy):
                if worker.connection in ready:
                    outcome, survivor = self._collect(worker)
                elif time.monotonic() - worker.started > self._timeout_s:
                    message = f"no answer within {self._timeout_s:g} s"
                    outcome, survivor = self._lost(worker, FaultKind.TIMEOUT, message)
                else:
                    continue
                busy.remove(worker)
                idle.append(survivor)
                yield outcome

    def run_one(self, job: Job) -> Outcome:
        """Run a single job."""
        return next(self.run(iter([job])))

    def _start(self) -> Worker:
        worker = Worker(self._settings)
        self._workers.append(worker)
        return worker

    def _await_ready(self, worker: Worker) -> None:
        if not worker.connection.poll(self._timeout_s):
            raise SubjectError(
                f"--kernel {self._settings.kernel!r}: importing it took over {self._timeout_s:g} s"
            )
        try:
            answer = worker.receive()
        except EOFError:
            code = worker.kill()
            raise SubjectError(
                f"--kernel {self._settings.kernel!r}: importing it ended the process (exit code {code})"
            ) from None
        if isinstance(answer, Refused):
            raise SubjectError(answer.reason)
        if isinstance(answer, Broken):
            raise InternalError(answer.trace)
        assert isinstance(answer, Ready)
        self.subject = answer.subject

    def _collect(self, worker: Worker) -> tuple[Outcome, Worker]:
        try:
            answer = worker.receive()
        except EOFError:
            return self._lost(worker, FaultKind.CRASH, "the process ended during the call")
        if isinstance(answer, Outcome):
            return answer, worker
        raise InternalError(answer.trace if isinstance(answer, Broken) else f"unexpected answer {answer!r}")

    def _lost(self, worker: Worker, kind: FaultKind, message: str) -> tuple[Outcome, Worker]:
        job = worker.job
        assert job is not None
        code = worker.kill()
        self._workers.remove(worker)
        if kind is FaultKind.CRASH:
            message = f"{message} (exit code {code})"
        if self._starts_left == 0:
            raise InternalError(f"workers were lost again and again, at last on case {job.name}: {message}")
        self._starts_left -= 1
        fresh = self._start()
        self._await_ready(fresh)
        fault = Fault(kind=kind, detector="isolation", message=message, lost_process=True)
        outcome = Outcome(
            case=job.name, family=job.family, dtype=job.dtype, outputs=0, faults=(fault,), tiers={}
        )
        return outcome, fresh
