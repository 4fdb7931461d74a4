"""The journal of a run: an append-only file with a line for every judged case, from which a run goes on.

A line is complete or it is not there: what a kill cut off is the last line, without its end, and is dropped.
The order is that in which cases came back. Nothing in a journal is executed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from fuzz.recipe import Recipe
from verify.campaign.jobs import Job, Stream
from verify.campaign.outcome import Outcome
from verify.campaign.plain import outcome_of, record_of

SCHEMA = "mla-merge-journal/1"
NAME = "journal.jsonl"


class JournalError(ValueError):
    """The journal cannot be read or written; the message is one line that says what to do."""


class Journal:
    """The file, open for appending; use as a context manager."""

    def __init__(self, file: Path, header: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a journal with this header, or go on with one that has the same; JournalError otherwise.

        An earlier journal that is not gone on with is kept as `journal.previous.jsonl`.
        """
        self.outcomes: dict[str, Outcome] = {}
        """What was judged before, by the name of the case."""
        self._file = file
        header = json.loads(json.dumps({"schema": SCHEMA, **header}))
        self._lock = self._locked()
        try:
            if resume:
                self._read(header)
            elif file.exists():
                file.replace(file.with_name("journal.previous.jsonl"))
            self._handle = self._opened()
            if not resume:
                self._append(header)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # closing tries again to write what a full disk refused
            self._handle.close()
        self._lock.close()

    def add(self, outcome: Outcome, job: Job) -> None:
        """Append what one case showed; when this returns, no end of this process can undo it.

        A case of the hunt is written down as its recipe: nothing else says again what it was.
        """
        record = record_of(outcome)
        if job.stream is Stream.HUNT and isinstance(job.input, Recipe):
            record = {"recipe": job.input.to_record(), **record}
        self._append(record)

    def _append(self, record: Mapping[str, Any]) -> None:
        try:
            self._handle.write(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")
            self._handle.flush()
        except OSError as error:
            raise JournalError(
                f"{self._file}: {error.strerror}; what was judged until now is safe there: make room, then "
                f"go on with --resume {self._file.parent}"
            ) from None

    def _opened(self) -> TextIO:
        try:
            return self._file.open("a", encoding="utf-8")
        except OSError as error:
            raise JournalError(f"{self._file}: {error.strerror}; name another folder") from None

    def _locked(self) -> TextIO:
        """Keep other runs out of the folder, until this one ends in whatever way."""
        try:
            lock = self._file.with_name(".lock").open("w")
        except OSError as error:
            raise JournalError(f"{self._file}: {error.strerror}; name another folder") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise JournalError(f"{self._file.parent}: another run writes there; name another --out") from None
        return lock

    def _read(self, header: Mapping[str, Any]) -> None:
        try:
            content = self._file.read_bytes()
        except OSError as error:
            raise JournalError(f"{self._file}: {error.strerror}; there is no run to go on with") from None
        complete = content[: content.rfind(b"\n") + 1]
        lines = complete.splitlines()
        if not lines:
            raise JournalError(f"{self._file}: not even its header is there; start anew without --resume")
        _check_header(self._file, _parsed(self._file, 1, lines[0]), header)
        for number, line in enumerate(lines[1:], start=2):
            try:
                outcome = outcome_of(_parsed(self._file, number, line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise JournalError(f"{self._file}: line {number} is no outcome ({error})") from None
            self.outcomes[outcome.case] = outcome
        if len(complete) < len(content):
            os.truncate(self._file, len(complete))


def read_header(file: Path) -> dict[str, Any]:
    """Return the header of a journal; JournalError where there is none."""
    try:
        with file.open("rb") as handle:
            line = handle.readline()
    except OSError as error:
        raise JournalError(f"{file}: {error.strerror}; there is no run to go on with") from None
    header = _parsed(file, 1, line)
    if header.get("schema") != SCHEMA:
        raise JournalError(f"{file}: schema is {header.get('schema')!r}, {SCHEMA!r} is wanted")
    return header


def find_recipe(file: Path, case: str) -> Recipe | None:
    """Return the recipe of a case of the hunt that the journal holds; JournalError, ValueError if damaged."""
    read_header(file)
    with file.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            if f'"{case}"'.encode() in line:
                record = _parsed(file, number, line)
                if record.get("case") == case and "recipe" in record:
                    return Recipe.from_record(record["recipe"])
    return None


def _check_header(file: Path, found: dict[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in (*wanted, *(name for name in found if name not in wanted)):
        if found.get(name) != wanted.get(name):
            raise JournalError(
                f"{file}: {name} was {found.get(name)!r} and now is {wanted.get(name)!r}; a run goes on with "
                "what it began with"
            )


def _parsed(file: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise JournalError(f"{file}: line {number} is not a JSON object: the journal is damaged")
    return record
