"""The settings of a command, and what they come to on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch

from verify.bounds import Bounds, load_bounds
from verify.cli import options as shared
from verify.cli import special
from verify.cli.config import Option, Settings, UsageError, read_settings
from verify.cli.launched import local_rank
from verify.cli.parsers import whole
from verify.ledger import Ledger, read_ledger

# Each command knows the names of the others' options: one configuration serves them all.
_NAMES = frozenset(
    value.name for module in (shared, special) for value in vars(module).values() if isinstance(value, Option)
)


def settings_of(
    command: str,
    purpose: str,
    options: Sequence[Option],
    argv: Sequence[str] | None,
    positional: str | None = None,
) -> Settings:
    """Read the settings of one command; raises and exits as `read_settings` does."""
    return read_settings(f"python -m verify.{command}", purpose, options, argv, _NAMES, positional)


def device_of(settings: Settings) -> str:
    """Return the device that is asked for, else cuda where there is one; UsageError when it is not there."""
    has_gpu = torch.cuda.is_available()
    device: str = settings["device"] or ("cuda" if has_gpu else "cpu")
    if device == "cuda" and not has_gpu:
        raise UsageError(
            "--device cuda: torch sees no GPU here; leave it out to use the interpreter on the CPU"
        )
    return device


def devices_of(settings: Settings, device: str) -> tuple[str, ...]:
    """Return the device of each worker process; UsageError when the number of workers is none.

    On CPUs there is one for each core, on GPUs one for each that is visible; started by a launcher that
    counts its processes on this machine, each has one GPU.
    """
    text = settings["workers"]
    if device == "cpu":
        return ("cpu",) * workers_of(settings)
    visible, local = torch.cuda.device_count(), local_rank()
    workers = (visible if local is None else 1) if text == "auto" else workers_of(settings)
    return tuple(f"cuda:{((local or 0) + worker) % visible}" for worker in range(workers))


def bounds_of(settings: Settings) -> Bounds:
    """Return the bounds to judge by; UsageError where the file is none."""
    try:
        return load_bounds(settings["bounds"])
    except (OSError, ValueError) as error:
        raise UsageError(f"--bounds: {error}") from None


def ledger_of(settings: Settings) -> Ledger | None:
    """Return the known findings; None without a ledger, UsageError where the file is none."""
    if settings["ledger"] is None:
        return None
    try:
        return read_ledger(settings["ledger"])
    except ValueError as error:
        raise UsageError(f"--ledger: {error}") from None


def workers_of(settings: Settings) -> int:
    """Return the number of processes that was asked for, one for each core otherwise; UsageError if none."""
    text = settings["workers"]
    if text == "auto":
        return _cores()
    try:
        return whole(1)(text)
    except ValueError as error:
        raise UsageError(f"--workers: {error}, nor auto") from None


def _cores() -> int:
    # Those this process may use, where the system can tell; a container often grants fewer than there are.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
