"""Progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

Progress = Callable[[int, int | None, str], None]
"""Told how much of the present stage is done, of how much if that is known, and what to say beside it."""

_EVERY_S = 5.0


@contextmanager
def progress_shown(*, quiet: bool) -> Iterator[Progress]:
    """Yield the function that a run reports its progress to."""
    if quiet:
        yield lambda done, total, said: None
    elif sys.stderr.isatty() and not os.environ.get("CI"):
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting workers", total=None)

        def update(done: int, total: int | None, said: str) -> None:
            bar.update(task, completed=done, total=total, description=said)

        yield update


def _lines() -> Progress:
    last = time.monotonic()

    def update(done: int, total: int | None, said: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY_S or done == total:
            last = time.monotonic()
            with contextlib.suppress(BrokenPipeError):  # nobody reads it; the run goes on
                of = "" if total is None else f"/{total}"
                print(f"{done}{of} {said}", file=sys.stderr, flush=True)

    return update
