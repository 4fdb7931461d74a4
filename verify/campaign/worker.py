"""The process in which a kernel runs.

A kernel may crash, hang or poison its GPU context. It does so in a child that holds one case at a time,
and the parent, which never imports a kernel, learns of it as an end of file or a passed deadline. The child
says what it is about to do, so that a loss or a delay can be laid at the right door.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from verify.campaign.environment import relevant_variables
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.station import Stage, Station, StationSettings, described
from verify.subjects.load import SubjectError

# Fresh interpreters: a fork would share torch's threads, and TRITON_INTERPRET must be set before an import.
_PR_SET_PDEATHSIG = 1
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The worker has loaded the kernel."""

    subject: dict[str, Any]
    """name, import_path, source_sha256."""
    variables: dict[str, str]
    """The environment variables that matter, as they are in the worker."""


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


Answer = Stage | Ready | Refused | Broken | Outcome


class Worker:
    """The parent's handle on one child."""

    def __init__(self, settings: StationSettings) -> None:
        self.settings = settings
        _occupy_standard_streams()
        resource_tracker.ensure_running()  # its start would unblock the signal below
        self.connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, settings), daemon=True)
        # Ctrl-C reaches the whole group; a child that cannot ignore it yet inherits it blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.job: Job | None = None
        self._enter(Stage.STARTING)

    @property
    def elapsed_s(self) -> float:
        """Seconds in the present stage."""
        return time.monotonic() - self._since

    def submit(self, job: Job) -> None:
        """Hand an idle child its next case."""
        self.job = job
        self._enter(Stage.PREPARING)
        # A child that is already gone shows as an end of file at the next read.
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def receive(self) -> Answer:
        """Take what the child says; EOFError when it died."""
        try:
            answer: Answer = self.connection.recv()
        except OSError:  # reset, or ended in the middle of a message
            raise EOFError from None
        if isinstance(answer, Stage):
            self._enter(answer)
        elif isinstance(answer, Ready | Outcome):
            self.job = None
            self._enter(Stage.IDLE)
        return answer

    def end(self, patience_s: float) -> str:
        """Wait so long for the child to end by itself, else kill it; return how it ended."""
        self.connection.close()
        self._process.join(patience_s)
        self._process.kill()
        self._process.join()
        code = self._process.exitcode or 0
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def _enter(self, stage: Stage) -> None:
        self.stage, self._since = stage, time.monotonic()


def _occupy_standard_streams() -> None:
    """Open what was closed (`2>&-`): else a pipe gets that number, and a kernel's message goes into it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest free number
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _serve(connection: Connection, settings: StationSettings) -> None:
    # The parent decides what Ctrl-C does to its children; they were started with the signal blocked.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _end_with_parent()
    # stdout belongs to the verdict: what a kernel prints goes where progress goes.
    os.dup2(2, 1)
    try:
        _serve_jobs(connection, settings)
    except Exception:
        _say(connection, Broken(trace=traceback.format_exc()))


def _end_with_parent() -> None:
    """Ask Linux to kill this process when the parent is killed: a kernel that hangs would run for ever."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve_jobs(connection: Connection, settings: StationSettings) -> None:
    _say(connection, Stage.LOADING)
    try:
        station = Station(settings, lambda stage: _say(connection, stage))
    except SubjectError as error:
        _say(connection, Refused(reason=str(error)))
        return
    _say(connection, Ready(subject=described(station.subject), variables=relevant_variables()))
    while True:
        # An outcome that lost its device is sent as well; the parent replaces this process then.
        _say(connection, station.run(_next_job(connection)))


def _say(connection: Connection, said: Answer) -> None:
    try:
        connection.send(said)
    except OSError:
        _leave()


def _next_job(connection: Connection) -> Job:
    try:
        job: Job = connection.recv()
    except (EOFError, OSError):
        _leave()
    return job


def _leave() -> NoReturn:
    """End, as the parent has hung up; at once, since to take torch down in order takes a second."""
    with contextlib.suppress(Exception):  # whatever a kernel made of its streams
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)
