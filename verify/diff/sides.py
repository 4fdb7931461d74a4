"""The two sides of a comparison: reports that are there, or runs of a kernel as it was at a revision."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reports.records import Report
from reports.serialize import read_report, write_text
from verify.bounds import DEFAULT_BOUNDS
from verify.campaign.pool import InternalError
from verify.cli.config import Option, Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERRUPTED, NOTHING_JUDGED, USAGE
from verify.cli.written import ALONE, cleared, written
from verify.diff.revision import Revision, check_out, commit_of, place_of


def sides(
    names: Sequence[str], settings: Settings, run: Sequence[Option]
) -> tuple[tuple[Report, Path], tuple[Report, Path]]:
    """Read or run both sides, each with the folder of its run.

    UsageError where a name is neither, or where `run` has no run to speak of.
    """
    files = [_file(name) for name in names]
    if None not in files:
        refuse_run(settings, run)
    # Both are looked up before either is run.
    found = [file or _revision(name, settings) for name, file in zip(names, files, strict=True)]
    before, after = (
        (_read(side), side.parent) if isinstance(side, Path) else _run(side, settings, letter)
        for letter, side in zip("AB", found, strict=True)
    )
    return before, after


def refuse_run(settings: Settings, run: Sequence[Option]) -> None:
    """Raise UsageError where the command line sets one of the options of a run: there will be none."""
    sources = {name: setting["source"] for name, setting in settings.record().items()}
    for option in run:
        if sources[option.name].startswith("--"):
            raise UsageError(f"--{option.name}: both runs were made already; leave it out")


def _revision(name: str, settings: Settings) -> Revision:
    try:
        place = place_of(settings["kernel"])
    except UsageError as error:
        raise UsageError(f"{name} is neither a report nor a run's folder; as a revision: {error}") from None
    commit = commit_of(place, name)
    if commit is None:
        raise UsageError(
            f"{name} is neither a report nor a run's folder nor a revision of {place.repository}"
        )
    return Revision(place=place, commit=commit)


def _file(name: str) -> Path | None:
    """Return the report's file that a side names; None where it must be a revision."""
    path = Path(name)
    if path.is_dir():
        path /= "report.json"
    return path if path.is_file() else None


def _read(file: Path) -> Report:
    try:
        return read_report(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InternalError(f"{error}") from None


def _run(revision: Revision, settings: Settings, letter: str) -> tuple[Report, Path]:
    """Run the kernel as it was at a commit; raises for whatever is no verdict."""
    place, commit = revision.place, revision.commit
    out: Path = settings["out"] / f"{letter}-{commit[:12]}"
    file = cleared(out)
    print(f"running {settings['kernel']} at {commit[:12]}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="mla-verify-") as scratch:
        folder = Path(scratch).resolve() / commit[:12]
        there = check_out(revision, folder)
        words = settings.arguments(leaving_out=("kernel", "out", "bounds", "profile"))
        bounds = str(DEFAULT_BOUNDS) if settings["bounds"] == "default" else settings["bounds"]
        own = (
            ALONE,
            f"--kernel={there.kernel}",
            f"--out={out.resolve()}",
            f"--profile={settings['profile']}",
        )
        # -P: the folder in which this was typed must not hide what is to be compared.
        command = [sys.executable, "-P", "-m", "verify.fuzz", *words, *own, f"--bounds={bounds}", "--quiet"]
        before = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([*map(str, there.search), *([before] if before else [])])
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
        )
    if done.returncode == USAGE:
        raise UsageError(f"at {commit[:12]}: {done.stderr.strip().removeprefix('error: ')}")
    if done.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode not in (CLEAN, FOUND, NOTHING_JUDGED):
        raise InternalError(f"at {commit[:12]}: {done.stderr.strip()}")
    if file.exists():
        _relocate(out, folder, place.repository)
    return written(file), out


def _relocate(out: Path, folder: Path, repository: Path) -> None:
    """Let what was written name the files of the working tree: those of the run are gone."""
    for file in (out / "report.json", out / "summary.md", *(out / "findings").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if str(folder) in text:
            write_text(file, text.replace(str(folder), str(repository)))
