"""Where two passports differ, and which results of a merge follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.markdown import table
from reports.serialize import write_text
from verify.campaign.pool import InternalError
from verify.cli.config import UsageError
from verify.cli.exits import CLEAN, FOUND, say
from verify.env.page import measured_text, witness_text
from verify.env.passport import Entry, Passport, is_passport, read_passport
from verify.env.probe import REFUSED

FILE = "passport.json"
"""The name that a passport has in the folder of a run."""
ABSENT = "not asked"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A question that two backends answer otherwise, or with other numbers."""

    before: Entry | None
    """A's; None where it was not asked."""
    after: Entry | None
    """B's."""

    @property
    def entry(self) -> Entry:
        """Either side's, for what both have."""
        found = self.after or self.before
        assert found is not None, "a difference has a side"
        return found

    @property
    def answers(self) -> tuple[str, str]:
        """What A and B answer."""
        before, after = (ABSENT if side is None else side.answer for side in (self.before, self.after))
        return before, after


def passports_of(names: Sequence[str]) -> tuple[Passport, Passport] | None:
    """Return the passports that two names stand for: files, or folders that hold one and no report.

    None where neither is one. UsageError where one alone is, or where they were probed with different
    seeds; InternalError where one is damaged.
    """
    files = [_file(name) for name in names]
    if not any(files):
        return None
    found = []
    for name, file in zip(names, files, strict=True):
        if file is None:
            raise UsageError(
                f"{name} is no passport, the other side is one: wanted two of them, as `python -m verify.env "
                f"--probe --json {FILE}` writes them, or two reports or revisions"
            )
        try:
            found.append(read_passport(file))
        except (OSError, ValueError) as error:
            raise InternalError(str(error)) from None
    before, after = found
    if before.seed != after.seed:
        raise UsageError(
            f"the passports were probed with seeds {before.seed} and {after.seed}, so at other points: probe "
            "again with one --seed"
        )
    return before, after


def differences(before: Passport, after: Passport) -> list[Difference]:
    """Return what differs, in the order of B's probes, then those that A alone was asked.

    Witnesses are not compared: where answers and numbers agree, other bits of a NaN say nothing.
    """
    old, new = ({entry.key: entry for entry in passport.entries} for passport in (before, after))
    keys = dict.fromkeys((*new, *old))
    pairs = (Difference(before=old.get(key), after=new.get(key)) for key in keys)
    return [pair for pair in pairs if _said(pair.before) != _said(pair.after)]


def page(
    before: Passport, after: Passport, found: Sequence[Difference], names: Sequence[str]
) -> Iterator[str]:
    """Yield the comparison as Markdown: both backends, other answers by what follows, other numbers."""
    yield f"# {names[0]} → {names[1]}\n"
    yield table(("", "A", "B"), list(_backends(before, after)))
    answers = [pair for pair in found if len(set(pair.answers)) == 2]
    numbers = [pair for pair in found if len(set(pair.answers)) == 1]
    asked = len({entry.key for side in (before, after) for entry in side.entries})
    yield f"\n## Other answers: {len(answers)} of {asked}\n"
    for follows in dict.fromkeys(pair.entry.follows for pair in answers):
        yield f"\nWhat follows: {follows}.\n"
        rows = [_answer_row(pair) for pair in answers if pair.entry.follows == follows]
        yield table(("probe", "A", "B", "witness of A", "witness of B"), rows)
    if numbers:
        yield f"\n## The same answer, other numbers: {len(numbers)}\n"
        rows = [(pair.entry.key, pair.answers[0], *_measured(pair), pair.entry.follows) for pair in numbers]
        yield table(("probe", "answer", "A", "B", "what follows"), rows)


def compare(before: Passport, after: Passport, names: Sequence[str], file: Path) -> int:
    """Print the comparison and write it to a file; return the exit code, FOUND where anything differs."""
    found = differences(before, after)
    text = "\n".join(page(before, after, found, names))
    say(text)
    write_text(file, text + "\n")
    say(f"\nwritten: {file}")
    answers = sum(len(set(pair.answers)) == 2 for pair in found)
    say(f"{'DIFFERENT' if found else 'SAME'} passports answers {answers} numbers {len(found) - answers}")
    return FOUND if found else CLEAN


def _file(name: str) -> Path | None:
    path = Path(name)
    if path.is_dir() and not (path / "report.json").exists():
        path /= FILE
    return path if path.is_file() and is_passport(path) else None


def _said(entry: Entry | None) -> object:
    if entry is None or entry.answer == REFUSED:
        return entry and entry.answer  # the words of a refusal are those of a version
    return entry.answer, dict(entry.measured)


def _backends(before: Passport, after: Passport) -> Iterator[tuple[str, str, str]]:
    sides = (before, after)
    yield "mode", before.mode, after.mode
    for name in ("device", "arch", "driver"):
        told = [str(side.environment.get(name, "none")) for side in sides]
        yield name, told[0], told[1]
    for part in ("versions", "variables"):
        for name in dict.fromkeys(key for side in sides for key in side.environment[part]):
            told = [str(side.environment[part].get(name, "none")) for side in sides]
            if told[0] != told[1]:
                yield name, told[0], told[1]


def _answer_row(pair: Difference) -> tuple[str, ...]:
    shown = [
        "" if side is None else "; ".join(part for part in (measured_text(side), witness_text(side)) if part)
        for side in (pair.before, pair.after)
    ]
    return (pair.entry.key, *pair.answers, *shown)


def _measured(pair: Difference) -> tuple[str, str]:
    """Return the numbers that differ."""
    sides = [dict(side.measured) if side is not None else {} for side in (pair.before, pair.after)]
    names = [
        name for name in dict.fromkeys((*sides[0], *sides[1])) if sides[0].get(name) != sides[1].get(name)
    ]
    before, after = (", ".join(f"{name} {side.get(name, 'none')}" for name in names) for side in sides)
    return before, after
