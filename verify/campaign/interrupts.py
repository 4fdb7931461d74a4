"""Ctrl-C: heard once, and not at all while something is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from verify.subjects.call import Interrupted


def ignore_interrupts() -> None:
    """Let no further Ctrl-C disturb what is being ended, until the enclosing context is left."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt for the first Ctrl-C only: a second must not cost the report of the first."""

    def first(number: int, frame: FrameType | None) -> None:
        ignore_interrupts()
        raise Interrupted

    with _handled_by(first):
        yield


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Finish the block whatever is typed."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], Any] | signal.Handlers) -> Iterator[None]:
    # Only the main thread may set a handler, and only there is KeyboardInterrupt ever raised.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
