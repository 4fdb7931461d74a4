"""The process in which a kernel runs.

A kernel may crash, hang or poison its GPU context. It does so in a child that holds one case at a time,
and the parent, which never imports a kernel, learns of it as an end of file or a passed deadline.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch

from fuzz.case import MergeCase
from fuzz.recipe import Recipe, expand
from verify.bounds import Bounds
from verify.campaign.trial import EXPLICIT, Outcome, run_trial
from verify.subjects.load import SubjectError, load_subject

# Fresh interpreters: a fork would share torch's threads, and TRITON_INTERPRET must be set before an import.
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What a worker needs to know, the same for all of them."""

    kernel: str
    """As `--kernel` names it."""
    device: str
    """`cpu` or `cuda`."""
    threads: int
    """Threads of torch in each worker."""
    bounds: Bounds
    """Numbers to judge by."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One case to run."""

    name: str
    """The case as verify.replay takes it."""
    input: Recipe | MergeCase
    """A recipe that the worker expands, or an explicit case on the CPU."""

    @property
    def family(self) -> str:
        """Family of the recipe; `explicit` for a case without one."""
        return self.input.family if isinstance(self.input, Recipe) else EXPLICIT

    @property
    def dtype(self) -> str:
        """Output dtype."""
        return self.input.dtype if isinstance(self.input, Recipe) else self.input.out_dtype


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The worker has loaded the kernel."""

    subject: dict[str, str]
    """name, import_path, source_sha256."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The kernel could not be loaded: a usage error."""

    reason: str
    """One line."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """The suite itself failed: an internal error, never a finding."""

    trace: str
    """Traceback for a bug report."""


class Worker:
    """The parent's handle on one child."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, settings), daemon=True)
        self._process.start()
        theirs.close()
        self.job: Job | None = None
        self.started = time.monotonic()

    def submit(self, job: Job) -> None:
        """Hand the child its next case."""
        self.job, self.started = job, time.monotonic()
        # A child that is already gone shows as an end of file at the next read.
        with contextlib.suppress(BrokenPipeError):
            self.connection.send(job)

    def receive(self) -> Outcome | Ready | Refused | Broken:
        """Take the child's answer; EOFError when it died."""
        try:
            answer: Outcome | Ready | Refused | Broken = self.connection.recv()
        except ConnectionResetError:
            raise EOFError from None
        self.job = None
        return answer

    def kill(self) -> int:
        """End the child and return its exit code, negative for a signal."""
        self._process.join(timeout=1.0)
        self._process.kill()
        self._process.join()
        self.connection.close()
        return self._process.exitcode or 0


def _serve(connection: Connection, settings: WorkerSettings) -> None:
    # Ctrl-C reaches the whole group; the parent decides what happens to the children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # stdout belongs to the verdict: what a kernel prints goes where progress goes.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if settings.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        _serve_jobs(connection, settings)
    except EOFError:
        return
    except Exception:
        connection.send(Broken(trace=traceback.format_exc()))


def _serve_jobs(connection: Connection, settings: WorkerSettings) -> None:
    torch.set_num_threads(settings.threads)
    try:
        subject = load_subject(settings.kernel)
    except SubjectError as error:
        connection.send(Refused(reason=str(error)))
        return
    described: dict[str, Any] = {
        "name": subject.name,
        "import_path": subject.import_path,
        "source_sha256": subject.source_sha256,
    }
    connection.send(Ready(subject=described))
    while True:
        job: Job = connection.recv()
        case = expand(job.input) if isinstance(job.input, Recipe) else job.input
        connection.send(run_trial(subject, case.to(settings.device), job.name, settings.bounds))
