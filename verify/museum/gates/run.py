"""Show every piece to every gate, in processes that a piece may end or hang.

Importing this module must not import Triton: the process that serves says first whether it interprets.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue

import numpy as np
import torch

from verify.campaign.pool import InternalError
from verify.museum.exhibit import Piece
from verify.museum.gates.registry import GATES
from verify.subjects.load import load_subject

_START_S = 120.0  # torch, the suite and the piece, on a busy machine with a cold disk
_CALL_S = 20.0  # the slowest piece, interpreted, takes a tenth of it on an idle core
_CONTEXT = multiprocessing.get_context("spawn")  # a fork would share torch's threads

Complaints = dict[str, dict[str, str]]
"""Piece → gate → what the gate has against it, empty for nothing."""


def complaints_of(
    pieces: Mapping[str, Piece], devices: Sequence[str], limit_s: float = _CALL_S
) -> Complaints:
    """Return what every gate says of every piece; a process for each device serves the calls.

    A call that ends its process or does not return within `limit_s` counts as noticed.
    """
    waiting: SimpleQueue[str] = SimpleQueue()
    # Those first that are known to end a process or to hang: the others pass the time.
    for name in sorted(pieces, key=lambda name: not getattr(pieces[name], "ends_process", False)):
        waiting.put(name)
    found: Complaints = {}

    def lane(device: str) -> None:
        booth = _Booth(device, limit_s)
        try:
            while True:
                name = waiting.get_nowait()
                found[name] = {gate: booth.ask(pieces[name].path, gate) for gate in GATES}
        except Empty:
            return
        finally:
            booth.close()

    with ThreadPoolExecutor(len(devices)) as executor:
        for future in [executor.submit(lane, device) for device in devices]:
            future.result()
    return {name: found[name] for name in pieces}


class _Booth:
    """A process that shows pieces to gates; a new one takes the place of one that was lost."""

    def __init__(self, device: str, limit_s: float) -> None:
        self._device, self._limit_s = device, limit_s
        self._process: multiprocessing.process.BaseProcess | None = None

    def ask(self, path: str, gate: str) -> str:
        """Return what a gate says of the piece that `path` names; InternalError when it cannot be asked."""
        for _ in range(2):  # what the piece before left behind may end the process before the call
            self._open()
            said = self._answer(path, gate)
            if said is not None:
                return said
        raise InternalError(
            f"twice, the process that was to show {path} to gate {gate} was lost before it did"
        )

    def _open(self) -> None:
        if self._process is None:
            self._connection, theirs = _CONTEXT.Pipe()
            self._process = _CONTEXT.Process(target=_serve, args=(theirs, self._device), daemon=True)
            self._process.start()
            theirs.close()

    def _answer(self, path: str, gate: str) -> str | None:
        """Return what the gate says, or how the process was lost; None when that was before the call."""
        called = False
        try:
            self._connection.send((path, gate))
            while self._connection.poll(self._limit_s if called else _START_S):
                said: str | None = self._connection.recv()
                if said is not None:
                    return said
                called = True
            self.close()
            return f"the call did not return within {self._limit_s:g} s" if called else None
        except (EOFError, OSError):
            how = self.close(patience_s=1.0)
            return f"the process ended ({how})" if called else None

    def close(self, patience_s: float = 0.0) -> str:
        """End the process; return how it ended."""
        if self._process is None:
            return "never started"
        self._connection.close()
        self._process.join(patience_s)
        self._process.kill()
        self._process.join()
        code, self._process = self._process.exitcode or 0, None
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _serve(connection: Connection, device: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    os.dup2(2, 1)  # stdout belongs to the verdict
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        os.environ.pop("TRITON_INTERPRET", None)
        torch.cuda.set_device(torch.device(device))
    torch.set_num_threads(1)
    np.seterr(all="ignore")
    try:
        while True:
            path, gate = connection.recv()
            merge = load_subject(path).merge
            connection.send(GATES[gate].complaint(merge, device, calling=lambda: connection.send(None)))
            if device != "cpu":
                torch.cuda.synchronize()  # raises where the device was lost: a new process takes over
    except (EOFError, OSError):  # the parent has hung up
        return


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)  # a piece that hangs would run for ever
