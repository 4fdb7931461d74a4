"""`python -m verify.gate [REPORT]`: run profile ci or take a report, and hold it to what was measured."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from reports.markdown import to_markdown, verdict_line
from reports.records import Report
from reports.serialize import read_report, to_json, write_text
from verify import fuzz
from verify.bounds import DEFAULT_BOUNDS, FP32_BOUNDS
from verify.campaign.pool import InternalError
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERNAL, INTERRUPTED, NOTHING_JUDGED, USAGE, guarded, say
from verify.cli.options import (
    BOUNDS,
    BUDGET,
    DEVICE,
    DTYPE,
    FAMILY,
    ISOLATE,
    KERNEL,
    LAW,
    MAX_CASES,
    OUT,
    PROFILE,
    QUIET,
    SEED,
    TIMEOUT,
    WORKERS,
)
from verify.cli.required import device_complaint
from verify.cli.settings import bounds_of, ledger_of, settings_of
from verify.cli.special import BASELINE, LEDGER, LOOSEN, MIN_OUTPUTS, REQUIRE_DEVICE, UPDATE_BOUNDS
from verify.gate.criteria import CHECKS, Complaint, Wanted, complaints, numbers_of, other_numbers
from verify.gate.ratchet import measure, ratchet, read_measured, rewritten
from verify.ledger import waive

_RUN = (
    KERNEL,
    replace(PROFILE, default="ci"),
    BUDGET,
    MAX_CASES,
    LAW,
    SEED,
    FAMILY,
    DTYPE,
    DEVICE,
    WORKERS,
    ISOLATE,
    TIMEOUT,
    OUT,
)
_GATE = (LEDGER, BASELINE, MIN_OUTPUTS, REQUIRE_DEVICE, UPDATE_BOUNDS, LOOSEN, QUIET)
OPTIONS = (*_RUN, BOUNDS, *_GATE)
_SHOWN = 3  # complaints of each criterion: all of them must fit a screen
_WIDTH = 240


def main(argv: Sequence[str] | None = None, today: date | None = None) -> int:
    """Run the command and return its exit code; waivers are due as of `today`."""
    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _main(given, today or datetime.now(UTC).date()))


def _main(argv: list[str], today: date) -> int:
    place, words = _split(argv)
    settings = settings_of("gate", __doc__ or "", OPTIONS, words)
    if settings["loosen"] is not None and not (settings["update-bounds"] and settings["loosen"].strip()):
        raise UsageError(
            "--loosen REASON: wanted together with --update-bounds, and a reason that says something"
        )
    bounds, ledger, baseline = bounds_of(settings), ledger_of(settings), None
    file = {"default": DEFAULT_BOUNDS, "fp32": FP32_BOUNDS}.get(bounds.name, Path(bounds.name))
    try:
        measured = read_measured(file)
    except ValueError as error:
        raise UsageError(f"--bounds: {error}") from None
    if settings["baseline"] is not None:
        baseline = _read(settings["baseline"])
    report = _run(settings) if place is None else _taken(place, settings)
    if isinstance(report, int):
        return report
    for other, name in ((report, "the report"), (baseline, "the baseline")):
        if other is not None and (difference := other_numbers(other, numbers_of(bounds))):
            raise UsageError(
                f"{name} was judged by other bounds: {difference}; judge both by the same --bounds"
            )
    if ledger is not None:
        report = waive(report, ledger, today=today)
        if place is None:
            write_text(settings["out"] / "report.json", to_json(report))
            write_text(settings["out"] / "summary.md", to_markdown(report))
    wanted = Wanted(
        bounds=bounds,
        measured=measured,
        baseline=baseline,
        min_outputs=settings["min-outputs"],
        device=settings["require-device"],
        folder=settings["out"] if place is None else place.parent,
    )
    found = complaints(report, wanted)
    lines = [_title(report, settings)]
    if settings["update-bounds"]:
        wanted, found, lines = _updated(report, wanted, found, file, settings["loosen"], lines)
    lines += _screen(found, report, settings)
    if not settings["quiet"]:
        say("\n".join(lines))
    code = _exit_code(report, found)
    say(verdict_line(replace(report, run={**report.run, "exit_code": code})))
    return code


def _split(argv: list[str]) -> tuple[Path | None, list[str]]:
    """Take the report out of the command line, wherever it stands; what else is too much, argparse says."""
    rest, place, taken = [], None, False
    for word in argv:
        option = word.startswith("-") and word != "-"
        if place is None and not taken and not option:
            place = Path(word)
            continue
        rest.append(word)
        flag = next((o for o in OPTIONS if option and f"--{o.name}".startswith(word)), None)
        taken = flag is not None and not flag.is_switch
    return place, rest


def _taken(place: Path, settings: Settings) -> Report:
    """Read a report that is there already; what would have decided the run cannot be said of it any more."""
    sources = {name: setting["source"] for name, setting in settings.record().items()}
    for option in _RUN:
        if sources[option.name].startswith("--"):
            raise UsageError(f"--{option.name} and {place}: that run was made already; leave out one of them")
    return _read(place)


def _read(file: Path) -> Report:
    try:
        return read_report(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InternalError(f"{error}") from None


def _run(settings: Settings) -> Report | int:
    """Run the campaign and return its report; the exit code where there is none."""
    if complaint := device_complaint(settings["require-device"], settings["device"]):
        raise UsageError(complaint)
    words = list(settings.arguments(leaving_out=[option.name for option in _GATE]))
    if not any(word.startswith("--profile=") for word in words):
        words.append(f"--profile={settings['profile']}")
    # What it found is told below, on one screen; its progress goes to stderr as ever.
    with redirect_stdout(io.StringIO()):
        code = fuzz.main([*words, *(["-q"] if settings["quiet"] else [])])
    return code if code in (USAGE, INTERNAL) else _read(settings["out"] / "report.json")


def _updated(
    report: Report,
    wanted: Wanted,
    found: tuple[Complaint, ...],
    file: Path,
    reason: str | None,
    lines: list[str],
) -> tuple[Wanted, tuple[Complaint, ...], list[str]]:
    """Turn the ratchet and write the file; not where the report fails for what no reason can excuse.

    UsageError where the file is not the kernel's own.
    """
    why = " ".join((reason or "").split())
    if any(complaint.check != "bounds" or not why for complaint in found):
        return wanted, found, [*lines, f"{file.name} is as it was: a report that fails measures nothing"]
    own = report.subject["name"]
    others = {bound.kernel for bound in wanted.measured.values()} - {own}
    if others or file == FP32_BOUNDS:
        said = f"holds what was measured of {', '.join(sorted(others))}" if others else "is for every kernel"
        raise UsageError(f"--update-bounds: {file} {said}; copy it and name the copy for {own} with --bounds")
    after, changes = ratchet(wanted.measured, measure(report), why)
    try:
        text = file.read_text(encoding="utf-8")
        changed = rewritten(text, after)
        if changed != text:
            write_text(file, changed)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be written: {' '.join(str(error).split())}") from None
    lines = [*lines, f"measured bounds in {file}:"]
    for change in changes:
        before = "" if change.before in (None, change.after) else f"{change.before:g} → "
        lines.append(f"  {change.result:<16} {before}{change.after:g}  {change.said}")
    wanted = replace(wanted, measured=after)
    return wanted, complaints(report, wanted), lines


def _title(report: Report, settings: Settings) -> str:
    run, device = report.run, report.environment["device"]
    against = [
        f"{name} {settings[name]}" for name in ("bounds", "ledger", "baseline") if settings[name] is not None
    ]
    made = f"profile {run['profile']} seed {run['seed']}"
    return f"gate: {report.subject['name']} on {device} ({run['mode']}), {made}, against {', '.join(against)}"


def _screen(found: Sequence[Complaint], report: Report, settings: Settings) -> list[str]:
    lines = []
    asked = {
        "baseline": settings["baseline"],
        "device": settings["require-device"],
        "ledger": settings["ledger"],
    }
    known = [finding for finding in report.findings if finding.issue]
    also = {
        "run": ", as far as its budget reached" if report.run["stopped_by"] else ", all its cases",
        "findings": f" that is new, {len(known)} known" if known else "",
        "outputs": f": {report.totals['outputs']}, {settings['min-outputs']} are wanted",
    }
    for check, met in CHECKS.items():
        of = [complaint for complaint in found if complaint.check == check]
        if not of:
            said = "not asked for" if asked.get(check, "") is None else met
            lines.append(f"ok    {check:<9} {said}{also.get(check, '')}")
            continue
        lines.append(f"FAIL  {check:<9} {len(of)}")
        for complaint in of[:_SHOWN]:
            lines.append(f"  {_cut(complaint.said)}")
            if complaint.replay:
                lines.append(f"    {complaint.replay}")
        if len(of) > _SHOWN:
            lines.append(f"  and {len(of) - _SHOWN} more")
    for finding in known[:_SHOWN]:
        lines.append(f"known {finding.id}, {finding.similar} cases: {finding.issue}")
    return lines


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _exit_code(report: Report, found: Sequence[Complaint]) -> int:
    """Return the run's own exit code where it came to no verdict, else the gate's."""
    status, code = report.run["status"], int(report.run["exit_code"])
    if status == "interrupted":
        return INTERRUPTED
    if status == "nothing judged":
        return NOTHING_JUDGED
    if code == INTERNAL:
        return INTERNAL
    return FOUND if found else CLEAN


if __name__ == "__main__":
    sys.exit(main())
