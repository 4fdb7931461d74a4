"""Compile a kernel for every target, each in a process of its own, as many at once as there are workers.

A process compiles for one target alone: what a kernel, torch or Triton remembers of a device is then true
of it. Triton's own cache on disk is used as ever; its key holds the target, the options and all sources.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verify.audit.calls import Call
from verify.audit.reading import Reading, read_kernel
from verify.audit.targets import Target
from verify.campaign.pool import InternalError
from verify.campaign.progress import Progress
from verify.cli.config import UsageError
from verify.subjects.load import SubjectError

_ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 200  # characters of what a process that ended said last


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What came of one target."""

    target: Target
    subject: dict[str, str]
    """name, path and sha256 of the kernel."""
    readings: tuple[Reading, ...]
    """Every kernel that was launched, once."""
    failed: dict[str, str]
    """Calls that launched nothing, with the reason."""
    seconds: float
    """Spent on calls and compilations."""

    @property
    def unsupported(self) -> int:
        """Calls outside what the kernel declares."""
        return sum(said.startswith("unsupported") for said in self.failed.values())

    @property
    def broken(self) -> dict[str, str]:
        """Calls that it ought to take, and that could not be compiled."""
        return {call: said for call, said in self.failed.items() if not said.startswith("unsupported")}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to compile."""

    kernel: str
    """As `--kernel` takes it."""
    convention: str
    """As `--convention` takes it."""
    calls: tuple[Call, ...]
    folder: Path
    """Where the assembly goes, a folder for each target."""
    timeout_s: float
    """What one target may take."""


def compile_all(
    request: Request, targets: Sequence[Target], workers: int, progress: Progress
) -> list[Compiled]:
    """Compile for every target, and return them in the order of the targets.

    SubjectError where the kernel cannot be loaded or ends its process; UsageError where a target takes too
    long; InternalError where this suite failed.
    """
    found: dict[str, Compiled] = {}
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(_compile, request, target): target for target in targets}
        try:
            for done in as_completed(waiting):
                found[waiting[done].name] = done.result()
                progress(len(found), len(targets), f"{waiting[done].name} compiled")
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [found[target.name] for target in targets]


def _compile(request: Request, target: Target) -> Compiled:
    folder = request.folder / target.name
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():  # of an earlier audit
        stale.unlink()
    file = folder / "request.json"
    wanted = {
        "target": target.name,
        "kernel": request.kernel,
        "convention": request.convention,
        "calls": [asdict(call) for call in request.calls],
        "folder": str(folder),
    }
    file.write_text(json.dumps(wanted))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "verify.audit.capture", str(file)],
            env=_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=request.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"--kernel {request.kernel!r}: to compile for {target.name} took more than "
            f"{request.timeout_s:g} s; allow more by --timeout, or name fewer --shapes"
        ) from None
    answer = file.with_suffix(".answer")
    if done.returncode != 0 or not answer.is_file():
        last = " ".join((done.stderr or done.stdout).split())[-_SHOWN:]
        raise SubjectError(
            f"--kernel {request.kernel!r}: its process ended with code {done.returncode} while compiling for "
            f"{target.name}{f', and said: {last}' if last else ''}"
        )
    return _read(target, folder, json.loads(answer.read_text()))


def _read(target: Target, folder: Path, answer: dict[str, Any]) -> Compiled:
    if refused := answer.get("refused"):
        raise SubjectError(refused)
    if broken := answer.get("broken"):
        raise InternalError(broken)
    return Compiled(
        target=target,
        subject=answer["subject"],
        readings=tuple(read_kernel(target, folder, about) for about in answer["compiled"]),
        failed=answer["failed"],
        seconds=answer["seconds"],
    )


def _environment() -> dict[str, str]:
    """Return an environment in which Triton compiles, and this suite is found from any folder."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    search = [str(_ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(part for part in search if part)
    return environment
