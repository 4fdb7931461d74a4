"""`python -m verify.gate [REPORT]`: run profile ci or take a report, and hold it to what was measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from reports.markdown import to_markdown, verdict_line
from reports.movers import differences
from reports.records import Report
from reports.render import publish
from reports.serialize import to_json, write_text
from verify.bounds import DEFAULT_BOUNDS, FP32_BOUNDS
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERNAL, INTERRUPTED, NOTHING_JUDGED, guarded, say
from verify.cli.settings import bounds_of, ledger_of, settings_of
from verify.cli.targets import check_targets
from verify.gate.criteria import complaints
from verify.gate.judged import check_comparable, read, report_in, run, taken
from verify.gate.measured import read_measured
from verify.gate.options import FILES, OPTIONS
from verify.gate.screen import screen, title, told
from verify.gate.update import updated
from verify.gate.wanted import Complaint, Wanted
from verify.ledger import waive


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
    check_targets(settings, FILES)
    bounds, ledger, baseline = bounds_of(settings), ledger_of(settings), None
    file = {"default": DEFAULT_BOUNDS, "fp32": FP32_BOUNDS}.get(bounds.name, Path(bounds.name))
    try:
        measured = read_measured(file)
    except ValueError as error:
        raise UsageError(f"--bounds: {error}") from None
    if settings["baseline"] is not None:
        baseline = read(settings["baseline"])
    report = run(settings) if place is None else taken(place, settings)
    if isinstance(report, int):
        return report
    check_comparable(report, baseline, bounds)
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
    if baseline is not None:
        lines += [f"note  baseline: {text}" for text in differences(baseline, report)]
    if not settings["quiet"]:
        say("\n".join(lines))
    code = _exit_code(report, found)
    report = told(report, found, code)
    if place is None:
        write_text(settings["out"] / "summary.md", to_markdown(report, baseline))
    _publish(report, baseline, settings)
    say(verdict_line(report))
    return code


def _publish(report: Report, baseline: Report | None, settings: Settings) -> None:
    files = {name: settings[name] for name in FILES}
    github = settings["github"]
    for line in publish(report, **files, to_github=github, baseline=baseline, environment=os.environ):
        print(line, file=sys.stderr)


def _split(argv: list[str]) -> tuple[Path | None, list[str]]:
    """Take the report out of the command line, wherever it stands; what else is too much, argparse says."""
    rest, place, taken = [], None, False
    for word in argv:
        if word == "--":
            continue
        option = word.startswith("-") and word != "-"
        if place is None and not taken and not option:
            place = report_in(Path(word))
            continue
        rest.append(word)
        flag = next((o for o in OPTIONS if option and f"--{o.name}".startswith(word)), None)
        taken = flag is not None and not flag.is_switch
    return place, rest


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
