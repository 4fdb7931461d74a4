"""`python -m verify.sweep`: a kernel as a function of one variable, at every float."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.files import save_case
from reports.serialize import write_text
from verify.bounds import Bounds
from verify.campaign.environment import describe_environment, describe_tool, relevant_variables
from verify.campaign.interrupts import no_interrupt
from verify.campaign.progress import progress_shown
from verify.cli.config import Option, Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERRUPTED, NOTHING_JUDGED, guarded, say
from verify.cli.options import BOUNDS, BUDGET, DEVICE, DTYPE, KERNEL, LIST, OUT, QUIET, RESUME, SEED
from verify.cli.settings import bounds_of, device_of, settings_of
from verify.cli.special import FULL, PROBE, SUBSET
from verify.subjects.load import Subject, load_subject
from verify.sweep.page import MAP_SCHEMA, SCHEMA, faults_of, plain, to_data, to_maps, to_table
from verify.sweep.plan import Plan
from verify.sweep.registry import PROBES
from verify.sweep.run import Result, sweep
from verify.sweep.state import State, read_header
from verify.sweep.worst import KEPT, Worst, look_again

OPTIONS: tuple[Option, ...] = (
    *(KERNEL, BOUNDS, PROBE, DTYPE, FULL, SUBSET, SEED),
    *(DEVICE, BUDGET, OUT, RESUME, LIST, QUIET),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    given = tuple(sys.argv[1:] if argv is None else argv)
    settings = settings_of("sweep", __doc__ or "", OPTIONS, given)
    if settings["list"]:
        say("\n".join(f"{probe.name:<15} {probe.sentence}" for probe in PROBES.values()))
        return CLEAN
    out = Path(settings["out"])
    if settings["resume"] is not None:
        out = settings["resume"]
        settings = _resumed(out, given)
    device = device_of(settings)
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # this process is the one that loads the kernel
    plan = _plan(settings, device)
    subject, bounds = load_subject(settings["kernel"]), bounds_of(settings)
    header = {
        "kernel": subject.import_path,
        "source_sha256": subject.source_sha256,
        "bounds": bounds.sha256,
        "device": device,
        "full": plan.full,
        "seed": plan.seed,
        "probes": list(plan.probes),
        "dtypes": list(plan.dtypes),
        "arguments": list(given),
    }
    state = State(out, header, resume=settings["resume"] is not None)
    with progress_shown(quiet=settings["quiet"]) as progress:
        result = sweep(subject, plan, bounds, state, progress, budget_s=settings["budget"])
    with no_interrupt():
        return _write(result, subject, plan, bounds, out)


def _resumed(out: Path, given: tuple[str, ...]) -> Settings:
    """Return the settings of the sweep in a folder, with what was said anew on the command line."""
    if any(word == "--out" or word.startswith("--out=") for word in given):
        raise UsageError("--out and --resume: a sweep goes on where it began; leave out one of them")
    arguments = read_header(out).get("arguments")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise UsageError(f"--resume {out}: the header does not say how the sweep was called")
    return settings_of("sweep", __doc__ or "", OPTIONS, (*arguments, *given))


def _plan(settings: Settings, device: str) -> Plan:
    if settings["full"] and settings["subset"]:
        raise UsageError("--full and --subset: leave out one of them")
    probes = settings["probe"] or tuple(PROBES)
    for name in probes:
        if name not in PROBES:
            raise UsageError(f"--probe: {name!r} is none of {', '.join(PROBES)}")
    return Plan(
        probes=tuple(name for name in PROBES if name in probes),
        dtypes=settings["dtype"],
        device=device,
        full=settings["full"] or (device == "cuda" and not settings["subset"]),
        seed=settings["seed"],
    )


def _write(result: Result, subject: Subject, plan: Plan, bounds: Bounds, out: Path) -> int:
    """Write sweep.json, sweep-maps.json, sweep.md and the worst cases; print the table and the verdict."""
    worst = _worst(result, subject, plan.device, out)
    environment = describe_environment(plan.device, relevant_variables())
    code = _exit_code(result)
    about = {"tool": describe_tool(), "environment": environment, "kernel": subject.import_path}
    body: dict[str, Any] = {
        "schema": SCHEMA,
        **about,
        "source_sha256": subject.source_sha256,
        "bounds": {"name": bounds.name, "sha256": bounds.sha256, "ulp": bounds.ulp},
        "full": plan.full,
        "seed": plan.seed,
        "stopped_by": result.stopped_by,
        "exit_code": code,
        "elapsed_s": round(result.elapsed_s, 1),
        "units": to_data(result, worst),
    }
    _dump(out / "sweep.json", body)
    _dump(out / "sweep-maps.json", {"schema": MAP_SCHEMA, **about, "maps": to_maps(result)})
    table = to_table(result, worst)
    faults = "".join(f"- {line}\n" for line in faults_of(result))
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    how = "every point" if plan.full else f"a subset of the points, seed {plan.seed}"
    head = f"# Sweep of {subject.name}\n\n{environment['device']}; {versions}.\nBounds {bounds.name}; {how}."
    legend = "\n".join(f"- `{name}`: {PROBES[name].sentence}" for name in plan.probes)
    write_text(out / "sweep.md", f"{head}\n\n{legend}\n\n{table}\n" + (f"\n{faults}" if faults else ""))
    say(table)
    if faults:
        say(faults.rstrip("\n"))
    say(_verdict(result, subject, plan, code))
    return code


def _worst(result: Result, subject: Subject, device: str, out: Path) -> dict[str, list[Worst]]:
    """Judge the worst points of every unit again, and write them as cases that the corpus takes."""
    found: dict[str, list[Worst]] = {}
    folder = out / "worst"
    folder.mkdir(parents=True, exist_ok=True)
    for swept in result.swept:
        points = swept.tally.worst(KEPT)
        if points:
            case, found[swept.unit.name] = look_again(subject, swept.unit, points, device)
            save_case(case.to("cpu").contiguous(), folder / f"sweep-{swept.unit.name}.safetensors")
    return found


def _exit_code(result: Result) -> int:
    tallies = [swept.tally for swept in result.swept]
    if any(not tally.clean for tally in tallies):
        return FOUND
    if result.stopped_by:
        return INTERRUPTED
    return CLEAN if any(tally.points for tally in tallies) else NOTHING_JUDGED


def _verdict(result: Result, subject: Subject, plan: Plan, code: int) -> str:
    tallies = [swept.tally for swept in result.swept]
    points = sum(tally.points for tally in tallies)
    size = sum(swept.size for swept in result.swept)
    word = {CLEAN: "PASS", FOUND: "FAIL", NOTHING_JUDGED: "NOTHING JUDGED"}.get(code, "INCOMPLETE")
    said = f"points {points:.4g}" + (
        f" of {size:.4g}, stopped by {result.stopped_by}" if result.stopped_by else ""
    )
    return (
        f"{word} {subject.name} sweep {'full' if plan.full else 'subset'} units {len(tallies)} {said} "
        f"misrounded {sum(tally.misrounded for tally in tallies)} "
        f"worst {max(tally.max_ulp for tally in tallies):.5g} ulp "
        f"judged {max(tally.judged_ulp for tally in tallies):.5g} ulp "
        f"fail {sum(tally.failed for tally in tallies)} "
        f"faults {sum(sum(tally.faults.values()) for tally in tallies)} "
        f"unsupported {sum(sum(tally.unsupported.values()) for tally in tallies)} seed {plan.seed}"
    )


def _dump(file: Path, body: dict[str, Any]) -> None:
    """Write plain data, numbers that JSON has no word for as text."""
    write_text(file, json.dumps(plain(body), allow_nan=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
