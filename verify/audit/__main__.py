"""`python -m verify.audit`: a kernel's instructions on six GPUs, none of which need be there."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.serialize import write_text
from verify.audit.calls import AUDITED, production_calls
from verify.audit.compile import Compiled, Request, compile_all
from verify.audit.page import SCHEMA, instruction_table, kernel_table, overview, to_data
from verify.audit.targets import TARGETS
from verify.audit.verdict import Complaint, bound_of, complaints_of
from verify.bounds import Bounds, load_bounds
from verify.bounds.float64 import Float64Bounds
from verify.campaign.environment import describe_environment, describe_tool, relevant_variables
from verify.campaign.progress import progress_shown
from verify.cli.config import Option, Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, NOTHING_JUDGED, guarded, say
from verify.cli.options import BOUNDS, CONVENTION, DTYPE, KERNEL, LIST, OUT, QUIET, TIMEOUT, WORKERS
from verify.cli.settings import bounds_of, settings_of, workers_of
from verify.cli.special import SHAPES, TARGET

_TIMEOUT_S = 600.0
OPTIONS: tuple[Option, ...] = (
    *(KERNEL, CONVENTION, BOUNDS, TARGET),
    replace(SHAPES, default=AUDITED, help=f"what to merge; default: {len(AUDITED)} shapes of production"),
    *(DTYPE, WORKERS),
    replace(TIMEOUT, default=_TIMEOUT_S, help="time that all calls for one target may take"),
    *(OUT, replace(LIST, help="list the targets and stop"), QUIET),
)
_SHOWN = 3  # errors of a target on the screen; audit.md has them all
_WIDTH = 200


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("audit", __doc__ or "", OPTIONS, argv)
    if settings["list"]:
        say("\n".join(f"{target.name:<8} {target.of}" for target in TARGETS.values()))
        return CLEAN
    begun = time.perf_counter()
    bounds, out = bounds_of(settings), Path(settings["out"])
    targets = [TARGETS[name] for name in TARGETS if name in settings["target"]]
    request = Request(
        kernel=settings["kernel"],
        convention=settings["convention"],
        calls=production_calls(settings["shapes"], settings["dtype"]),
        folder=out / "assembly",
        timeout_s=settings["timeout"],
    )
    with progress_shown(quiet=settings["quiet"]) as progress:
        compiled = compile_all(request, targets, workers_of(settings), progress)
    _check_launched(compiled, request)
    return _write(compiled, bounds, settings, out, time.perf_counter() - begun)


def _check_launched(compiled: Sequence[Compiled], request: Request) -> None:
    """Raise UsageError where the kernel is none that can be audited: it launches nothing of Triton's."""
    if any(one.readings or one.unsupported == len(request.calls) for one in compiled):
        return
    reasons = {said for one in compiled for said in one.broken.values()}
    if any(said.startswith("does not compile") for said in reasons):
        return
    if reasons == {"no launch"}:
        raise UsageError(
            f"--kernel {request.kernel!r}: no call of it launched a Triton kernel, so there is nothing to "
            "audit; name one that does"
        )
    raise UsageError(f"--kernel {request.kernel!r}: no call of it came to a launch; it {min(reasons)}")


def _write(
    compiled: Sequence[Compiled], bounds: Bounds, settings: Settings, out: Path, elapsed_s: float
) -> int:
    """Write audit.json and audit.md; print the table, the errors and the verdict."""
    default = load_bounds()
    assert isinstance(default, Float64Bounds)
    complaints = {one.target.name: complaints_of(one.target, one.readings, bounds) for one in compiled}
    followed = {one.target.name: bound_of(one.target, one.readings, default) for one in compiled}
    code = _exit_code(compiled, complaints)
    subject = compiled[0].subject
    table = overview(compiled, complaints, followed)
    errors = {one.target.name: [*map(str, complaints[one.target.name]), *_broken(one)] for one in compiled}
    environment = describe_environment("cpu", relevant_variables())
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": describe_tool(),
        "environment": environment,
        "kernel": subject,
        "bounds": {"name": bounds.name, "sha256": bounds.sha256},
        "exit_code": code,
        "elapsed_s": round(elapsed_s, 1),
        "targets": to_data(compiled, complaints, followed),
    }
    write_text(out / "audit.json", json.dumps(body, allow_nan=False) + "\n")
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    lines = [f"- {line}" for of_target in errors.values() for line in of_target] or ["none"]
    page = (
        (f"# Audit of {subject['name']}", f"Bounds {bounds.name}; compiled with {versions}.", table),
        ("## Errors", "\n".join(lines)),
        ("## Instructions", instruction_table(compiled)),
        ("## Kernels", kernel_table(compiled)),
    )
    write_text(out / "audit.md", "\n\n".join(part for section in page for part in section) + "\n")
    if not settings["quiet"]:
        say(table)
        for of_target in errors.values():
            for line in of_target[:_SHOWN]:
                say(f"FAIL  {line if len(line) <= _WIDTH else line[: _WIDTH - 1] + '…'}")
            if len(of_target) > _SHOWN:
                say(f"      and {len(of_target) - _SHOWN} more in {out / 'audit.md'}")
    say(_verdict(compiled, errors, bounds, code, elapsed_s))
    return code


def _broken(one: Compiled) -> list[str]:
    """Return a line for each reason for which calls could not be compiled, with the first of them."""
    calls: dict[str, list[str]] = {}
    for call, said in one.broken.items():
        calls.setdefault(said, []).append(call)
    return [f"{one.target.name} {said} ({len(of)} calls, first {of[0]})" for said, of in calls.items()]


def _exit_code(compiled: Sequence[Compiled], complaints: dict[str, list[Complaint]]) -> int:
    if any(complaints.values()) or any(one.broken for one in compiled):
        return FOUND
    return CLEAN if any(one.readings for one in compiled) else NOTHING_JUDGED


def _verdict(
    compiled: Sequence[Compiled], errors: dict[str, list[str]], bounds: Bounds, code: int, elapsed_s: float
) -> str:
    word = {CLEAN: "PASS", FOUND: "FAIL", NOTHING_JUDGED: "NOTHING JUDGED"}[code]
    spilled = sum(bool(reading.resources.spilled_bytes) for one in compiled for reading in one.readings)
    return (
        f"{word} {compiled[0].subject['name']} audit targets {len(compiled)} "
        f"kernels {sum(len(one.readings) for one in compiled)} spilling {spilled} "
        f"errors {sum(map(len, errors.values()))} unsupported {sum(one.unsupported for one in compiled)} "
        f"bounds {bounds.name}, {elapsed_s:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
