"""`python -m verify.gate [REPORT]`: run profile ci or take a report, and hold it to what was measured."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from reports.markdown import to_markdown, verdict_line
from reports.records import Report
from reports.render import publish
from reports.serialize import read_report, to_json, write_text
from verify import fuzz
from verify.bounds import DEFAULT_BOUNDS, FP32_BOUNDS
from verify.campaign.pool import InternalError
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERNAL, INTERRUPTED, NOTHING_JUDGED, USAGE, guarded, say
from verify.cli.options import (
    BOUNDS,
    BUDGET,
    CONVENTION,
    DEVICE,
    DTYPE,
    FAMILY,
    GITHUB,
    HTML,
    ISOLATE,
    JUNIT,
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
from verify.cli.targets import check_targets
from verify.gate.criteria import complaints, numbers_of, other_numbers
from verify.gate.measured import read_measured
from verify.gate.screen import screen, title, told
from verify.gate.update import updated
from verify.gate.wanted import Complaint, Wanted
from verify.ledger import waive

_RUN = (
    KERNEL,
    CONVENTION,
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
_GATE = (LEDGER, BASELINE, MIN_OUTPUTS, REQUIRE_DEVICE, UPDATE_BOUNDS, LOOSEN, HTML, JUNIT, GITHUB, QUIET)
_FILES = ("html", "junit")
OPTIONS = (*_RUN, BOUNDS, *_GATE)


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
    check_targets(settings, _FILES)
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
    wanted = Wanted(
        bounds=bounds,
        measured=measured,
        baseline=baseline,
        min_outputs=settings["min-outputs"],
        device=settings["require-device"],
        folder=settings["out"] if place is None else place.parent,
    )
    found = complaints(report, wanted)
    lines = [title(report, settings)]
    if settings["update-bounds"]:
        wanted, found, lines = updated(report, wanted, found, file, settings["loosen"], lines)
    lines += screen(found, report, settings)
    if not settings["quiet"]:
        say("\n".join(lines))
    code = _exit_code(report, found)
    report = told(report, found, code)
    if place is None:
        write_text(settings["out"] / "summary.md", to_markdown(report, baseline))
    files = {name: settings[name] for name in _FILES}
    github = settings["github"]
    for line in publish(report, **files, to_github=github, baseline=baseline, environment=os.environ):
        print(line, file=sys.stderr)
    say(verdict_line(report))
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
        code = fuzz.main([*words, "--github=off", *(["-q"] if settings["quiet"] else [])])
    return code if code in (USAGE, INTERNAL) else _read(settings["out"] / "report.json")


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
