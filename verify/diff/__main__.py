"""`python -m verify.diff A B`: what changed between two reports, two revisions of a kernel, two passports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reports.movers import movers
from reports.records import Report
from reports.render import missing_for_html, write_html
from reports.serialize import write_text
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, guarded, say
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
from verify.diff.page import findings, page
from verify.diff.sides import refuse_run, sides
from verify.env.compare import compare, passports_of
from verify.gate.criteria import complaints
from verify.gate.wanted import Complaint, Wanted

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 where B is worse than A, or passports differ."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    names, words = _split(argv)
    settings = settings_of(
        "diff",
        f"{__doc__} A and B are report.json, a run's folder or a revision; or both are passport.json.",
        OPTIONS,
        words,
    )
    if len(names) != 2:
        raise UsageError(
            f"{len(names)} of two sides: wanted A and B, each a report.json, a run's folder or a revision, "
            "or two passports"
        )
    passports = passports_of(names)
    if passports is not None:
        refuse_run(settings, _RUN)
        return compare(*passports, names, settings["out"] / "diff" / "diff.md")
    (before, _), (after, place) = sides(names, settings, _RUN)
    moved = movers(before, after)
    worse = _worse(before, after, place, settings)
    lines = list(page(before, after, moved, worse, names))
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
    new, gone = findings(before, after)
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


def _worse(before: Report, after: Report, place: Path, settings: Settings) -> list[Complaint]:
    """Return what a gate says of B, whose run is in `place`, with A as its baseline, stratum by stratum."""
    wanted = Wanted(
        bounds=bounds_of(settings),
        measured={},
        baseline=before,
        min_outputs=0,
        device=None,
        folder=place,
    )
    return [complaint for complaint in complaints(after, wanted) if complaint.check == "baseline"]


if __name__ == "__main__":
    sys.exit(main())
