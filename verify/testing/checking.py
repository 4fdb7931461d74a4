"""What `python -m verify.fuzz` does, as a function that returns the report."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.records import Report
from verify import fuzz
from verify.campaign.pool import InternalError
from verify.cli.config import UsageError
from verify.cli.exits import CLEAN, FOUND, INTERRUPTED, NOTHING_JUDGED, USAGE
from verify.cli.options import DEVICE, ISOLATE, PROFILE
from verify.cli.settings import device_of, settings_of
from verify.cli.written import ALONE, cleared, written
from verify.testing.here import mode_note, visiting
from verify.testing.naming import LOCAL, lent, name_of

Option = str | int | float | os.PathLike[str] | Sequence[str] | None
"""A value as Python has it; a sequence is what a flag takes with commas between."""


def check(
    kernel: Callable[..., Any] | str | None = None,
    *,
    profile: str | None = None,
    seed: int | None = None,
    bounds: str | os.PathLike[str] | None = None,
    convention: str | None = None,
    device: str | None = None,
    family: str | Sequence[str] | None = None,
    dtype: str | Sequence[str] | None = None,
    laws: str | Sequence[str] | None = None,
    max_cases: int | None = None,
    budget: str | None = None,
    timeout: str | None = None,
    workers: int | None = None,
    isolate: str | None = None,
    out: str | os.PathLike[str] = "out",
) -> Report:
    """Run a kernel's cases, judge every value and return the report; it is written to the folder `out` too.

    The kernel is a function or a name as `--kernel` takes it. A function that stands in a module runs in
    worker processes, which load it from there; any other runs in this process, where a crash is this
    process's own. The rest are the flags of `python -m verify.fuzz`, with the values that the environment and
    pyproject.toml give to those left out; without any the profile is smoke.

    The report's `run["exit_code"]` is 0 where nothing was found, 1 for a finding and 5 where nothing was
    judged. Raises UsageError, one line, where the command would exit with 2, InternalError where it would
    with 3, and KeyboardInterrupt after Ctrl-C, the report of what was judged until then being written.
    """
    options: dict[str, Option] = {
        "profile": profile or _setting(PROFILE, "smoke"),
        "seed": seed,
        "bounds": bounds,
        "convention": convention,
        "device": device,
        "family": family,
        "dtype": dtype,
        "laws": laws,
        "max-cases": max_cases,
        "budget": budget,
        "timeout": timeout,
        "workers": workers,
        "isolate": isolate,
        "out": out,
    }
    name = kernel if kernel is None or isinstance(kernel, str) else name_of(kernel)
    nameless = kernel if callable(kernel) and name is None else None
    if nameless is not None and isolate == "on":
        raise UsageError(
            f"isolate='on': another process cannot import {kernel!r}; make it a function of a module"
        )
    if nameless is None and (isolate or _setting(ISOLATE, "on")) == "on":
        return _run({**options, "kernel": name})
    chosen = device_of(_settings((DEVICE,), {"device": device}))
    note = mode_note(chosen)  # asked before the kernel imports anything
    with lent(nameless) if nameless is not None else nullcontext(name) as local, visiting(chosen):
        report = _run({**options, "kernel": local, "isolate": "off"})
    also = (note, _UNNAMED if nameless is not None and report.findings else "")
    return replace(report, notes=(*report.notes, *filter(None, also)))


_UNNAMED = f"to replay a case, make the kernel a function of a module and name that in place of {LOCAL}:merge"


def _run(options: Mapping[str, Option]) -> Report:
    printed, said, file = io.StringIO(), io.StringIO(), cleared(Path(str(options["out"])))
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        # A launcher's processes check everything each: a test has no shares.
        code = fuzz.main([*_words(options), ALONE, "--quiet"])
    text = said.getvalue()
    # The last line is the verdict, for the caller to print or not; the rest is from a kernel in this process.
    print("".join(printed.getvalue().splitlines(keepends=True)[:-1]), end="")
    if code == USAGE:
        raise UsageError(text.strip().removeprefix("error: "))
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (CLEAN, FOUND, NOTHING_JUDGED):
        raise InternalError(text.strip())
    print(text, end="", file=sys.stderr)
    return written(file)


def _words(options: Mapping[str, Option]) -> list[str]:
    return [f"--{name}={_text(value)}" for name, value in options.items() if value is not None]


def _text(value: Option) -> str:
    if isinstance(value, str | int | float | os.PathLike) or value is None:
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    return ",".join(value) or "none"


def _settings(options: Sequence[Any], given: Mapping[str, Option]) -> Any:
    return settings_of("fuzz", "", options, _words(given))


def _setting(option: Any, default: str) -> str:
    """Return the value that the environment or pyproject.toml gives to an option, else the default."""
    value: str = _settings((replace(option, default=default),), {})[option.name]
    return value
