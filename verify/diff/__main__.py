"""`python -m verify.diff A B`: what changed between two reports, or two git revisions of a kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reports.markdown import table, verdict_line
from reports.movers import Mover, movers
from reports.records import Report
from reports.render import missing_for_html, write_html
from reports.serialize import read_report, write_text
from verify.bounds import DEFAULT_BOUNDS
from verify.campaign.pool import InternalError
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, INTERRUPTED, NOTHING_JUDGED, USAGE, guarded, say
from verify.cli.options import (
    BOUNDS,
    BUDGET,
    CONVENTION,
    DEVICE,
    DTYPE,
    FAMILY,
    ISOLATE,
    KERNEL,
    LAW,
    MAX_CASES,
    OUT,
    PROFILE,
    SEED,
    TIMEOUT,
    WORKERS,
)
from verify.cli.settings import bounds_of, settings_of
from verify.diff.revision import Revision, check_out, commit_of, place_of
from verify.gate.criteria import Complaint, Wanted, complaints

_RUN = (
    KERNEL,
    CONVENTION,
    # Two runs are compared stratum by stratum: the same cases, not as many as time allows.
    replace(PROFILE, default="smoke"),
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
)
OPTIONS = (*_RUN, BOUNDS, OUT)
_ROWS = 40
_ALIKE = ("profile", "max_cases", "seed", "families", "dtypes", "mode")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 where B is worse than A."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    names, words = _split(argv)
    settings = settings_of(
        "diff", f"{__doc__} A and B are report.json, a run's folder or a revision.", OPTIONS, words
    )
    if len(names) != 2:
        raise UsageError(
            f"{len(names)} of two sides: wanted A and B, each a report.json, a run's folder or a revision"
        )
    before, after = _sides(names, settings)
    moved = movers(before, after)
    worse = _worse(before, after, settings)
    lines = list(_page(before, after, moved, worse, names))
    say("\n".join(lines))
    folder = settings["out"] / "diff"
    write_text(folder / "diff.md", "\n".join(lines) + "\n")
    written = [folder / "diff.md"]
    if missing := missing_for_html():
        print(f"note: {missing}", file=sys.stderr)
    else:
        written.append(folder / "report.html")
        write_html(after, written[-1], before)
    say(f"\nwritten: {' and '.join(map(str, written))}")
    new, gone = _findings(before, after)
    bad = bool(worse or new)
    better = not bad and (gone or any(mover.margin_change < 0 for mover in moved))
    word = "WORSE" if bad else "BETTER" if better else "SAME"
    changed = sum(mover.moved for mover in moved)
    say(
        f"{word} {after.subject['name']} strata {len(moved)} changed {changed} worse {len(worse)} "
        f"findings new {len(new)} gone {len(gone)}"
    )
    return FOUND if bad else CLEAN


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take what is neither a flag nor a flag's value out of a command line."""
    names: list[str] = []
    rest: list[str] = []
    taken = False
    for word in argv:
        flag = word.startswith("-")
        (rest if flag or taken else names).append(word)
        taken = flag and "=" not in word and any(f"--{option.name}".startswith(word) for option in OPTIONS)
    return names, rest


def _sides(names: Sequence[str], settings: Settings) -> tuple[Report, Report]:
    files = [_file(name) for name in names]
    if None not in files:
        sources = {name: setting["source"] for name, setting in settings.record().items()}
        for option in _RUN:
            if sources[option.name].startswith("--"):
                raise UsageError(f"--{option.name}: both runs were made already; leave it out")
    # Both are looked up before either is run.
    sides = [file or _revision(name, settings) for name, file in zip(names, files, strict=True)]
    before, after = (
        _read(side) if isinstance(side, Path) else _run(side, settings, letter)
        for letter, side in zip("AB", sides, strict=True)
    )
    return before, after


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


def _run(revision: Revision, settings: Settings, letter: str) -> Report:
    """Run the kernel as it was at a commit; raises for whatever is no verdict."""
    place, commit = revision.place, revision.commit
    out: Path = settings["out"] / f"{letter}-{commit[:12]}"
    print(f"running {settings['kernel']} at {commit[:12]}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="mla-verify-") as scratch:
        folder = Path(scratch).resolve() / commit[:12]
        there = check_out(revision, folder)
        words = settings.arguments(leaving_out=("kernel", "out", "bounds", "profile"))
        bounds = str(DEFAULT_BOUNDS) if settings["bounds"] == "default" else settings["bounds"]
        own = (f"--kernel={there.kernel}", f"--out={out.resolve()}", f"--profile={settings['profile']}")
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
    _relocate(out, folder, place.repository)
    return _read(out / "report.json")


def _relocate(out: Path, folder: Path, repository: Path) -> None:
    """Let what was written name the files of the working tree: those of the run are gone."""
    for file in (out / "report.json", out / "summary.md", *(out / "findings").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if str(folder) in text:
            write_text(file, text.replace(str(folder), str(repository)))


def _worse(before: Report, after: Report, settings: Settings) -> list[Complaint]:
    """Return what a gate says of B with A as its baseline, stratum by stratum."""
    wanted = Wanted(
        bounds=bounds_of(settings),
        measured={},
        baseline=before,
        min_outputs=0,
        device=None,
        folder=settings["out"],
    )
    return [complaint for complaint in complaints(after, wanted) if complaint.check == "baseline"]


def _findings(before: Report, after: Report) -> tuple[list[str], list[str]]:
    """Return the ids of the findings that only B has, and those that only A has."""
    old, new = ({finding.id for finding in report.findings} for report in (before, after))
    return sorted(new - old), sorted(old - new)


def _page(
    before: Report, after: Report, moved: Sequence[Mover], worse: Sequence[Complaint], names: Sequence[str]
) -> Iterator[str]:
    yield f"# {names[0]} → {names[1]}\n"
    yield table(
        ("", "kernel", "source", "verdict"),
        [
            (letter, one.subject["import_path"], one.subject["source_sha256"][:12], verdict_line(one))
            for letter, one in zip("AB", (before, after), strict=True)
        ],
    )
    for note in _notes(before, after):
        yield f"\n> note: {note}"
    yield f"\n## Worse ({len(worse)})\n" if worse else "\nNo stratum is worse."
    for complaint in worse[:_ROWS]:
        yield f"- {complaint.said}" + (f"\n  `{complaint.replay}`" if complaint.replay else "")
    new, gone = _findings(before, after)
    for title, ids in (("New findings", new), ("Findings that are gone", gone)):
        if ids:
            yield f"\n## {title} ({len(ids)})\n"
            yield from (f"- {name}" for name in ids[:_ROWS])
    changed = [mover for mover in moved if mover.moved]
    yield f"\n## Changed: {len(changed)} of {len(moved)} strata\n"
    if changed:
        rows = [_row(mover) for mover in changed[:_ROWS]]
        yield table(("stratum", "judged ulp", "margin", "failed values"), rows)
    if len(changed) > _ROWS:
        yield f"\n… and {len(changed) - _ROWS} more."


def _row(mover: Mover) -> tuple[str, ...]:
    return (
        " ".join(mover.key),
        _change(mover.before_judged_ulp, mover.after_judged_ulp),
        _change(mover.before_margin, mover.after_margin),
        f"{mover.failed_change:+d}",
    )


def _change(before: float | None, after: float | None) -> str:
    return " → ".join("none" if value is None else f"{value:.6g}" for value in (before, after))


def _notes(before: Report, after: Report) -> Iterator[str]:
    """Yield what else is not the same on both sides, so that nobody lays it at the kernel's door."""
    for name in _ALIKE:
        sides = [report.run.get(name) for report in (before, after)]
        if sides[0] != sides[1]:
            yield f"the {name.replace('_', ' ')} differs: {sides[0]} and {sides[1]}"
    for what in ("device", "versions"):
        sides = [report.environment[what] for report in (before, after)]
        if sides[0] != sides[1]:
            yield f"the {what} differs: {sides[0]} and {sides[1]}"
    if before.bounds.get("sha256") != after.bounds.get("sha256"):
        yield "the bounds differ: margins cannot be compared"
    if before.tool.get("revision") != after.tool.get("revision"):
        yield "the suite differs: its cases may not be the same"


if __name__ == "__main__":
    sys.exit(main())
