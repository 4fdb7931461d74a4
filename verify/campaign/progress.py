"""Progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from verify.campaign.gather import Gathered
from verify.campaign.run import Progress as Report

_EVERY_S = 5.0


@contextmanager
def progress_shown(*, quiet: bool) -> Iterator[Report]:
    """Yield the function that a run reports its progress to."""
    if quiet:
        yield lambda gathered, planned: None
    elif sys.stderr.isatty() and not os.environ.get("CI"):
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Report]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cases"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting workers", total=None)

        def update(gathered: Gathered, planned: int) -> None:
            bar.update(task, completed=gathered.cases, total=planned, description=_state(gathered))

        yield update


def _lines() -> Report:
    said = time.monotonic()

    def update(gathered: Gathered, planned: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _EVERY_S or gathered.cases == planned:
            said = time.monotonic()
            print(f"{gathered.cases}/{planned} cases, {_state(gathered)}", file=sys.stderr, flush=True)

    return update


def _state(gathered: Gathered) -> str:
    return f"{gathered.outputs} outputs, {gathered.failed_cases} failing"
