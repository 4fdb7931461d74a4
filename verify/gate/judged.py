"""What the gate judges: the report of its own run, or one that is there; and whether a baseline fits it."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

from reports.records import Report
from reports.serialize import read_report
from verify import fuzz
from verify.bounds import Bounds
from verify.campaign.pool import InternalError
from verify.cli.config import Settings, UsageError
from verify.cli.exits import INTERNAL, USAGE
from verify.cli.required import device_complaint
from verify.cli.written import ALONE, cleared, written
from verify.gate.criteria import numbers_of, other_numbers
from verify.gate.options import OWN, RUN


def check_comparable(report: Report, baseline: Report | None, bounds: Bounds) -> None:
    """Raise UsageError where the two were judged by other bounds than these, or are of two kernels."""
    for other, name in ((report, "the report"), (baseline, "the baseline")):
        if other is not None and (difference := other_numbers(other, numbers_of(bounds))):
            raise UsageError(
                f"{name} was judged by other bounds: {difference}; judge both by the same --bounds"
            )
    if baseline is not None and _short(baseline) != _short(report):
        kernels = f"{baseline.subject['name']}, the report of {report.subject['name']}"
        raise UsageError(
            f"--baseline is of {kernels}: wanted an earlier report of the same kernel; verify.diff takes any"
        )


def taken(place: Path, settings: Settings) -> Report:
    """Read a report that is there already; what would have decided the run cannot be said of it any more."""
    sources = {name: setting["source"] for name, setting in settings.record().items()}
    for option in RUN:
        if sources[option.name].startswith("--"):
            raise UsageError(f"--{option.name} and {place}: that run was made already; leave out one of them")
    return read(place)


def _short(report: Report) -> str:
    """Return the kernel's name without the folder of its file, which may be typed in another way."""
    return str(report.subject["name"]).rpartition("/")[2]


def report_in(place: Path) -> Path:
    """Return the report's file that is named, or that of a run's folder."""
    return place / "report.json" if place.is_dir() else place


def read(place: Path) -> Report:
    """Read a report, or that of a run's folder; UsageError where there is none."""
    file = report_in(place)
    try:
        return read_report(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); wanted a report.json") from None
    except ValueError as error:
        raise InternalError(f"{error}") from None


def run(settings: Settings) -> Report | int:
    """Run the campaign and return its report; the exit code where there is none."""
    if complaint := device_complaint(settings["require-device"], settings["device"]):
        raise UsageError(complaint)
    words = list(settings.arguments(leaving_out=[option.name for option in OWN]))
    if not any(word.startswith("--profile=") for word in words):
        words.append(f"--profile={settings['profile']}")
    file = cleared(settings["out"])
    # What it found is told below, on one screen; its progress goes to stderr as ever.
    with redirect_stdout(io.StringIO()):
        code = fuzz.main([*words, ALONE, "--github=off", *(["-q"] if settings["quiet"] else [])])
    return code if code in (USAGE, INTERNAL) else written(file)
