"""What a sweep has done so far, in files from which it goes on: one for the whole, one for each unit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.serialize import write_text
from verify.cli.config import UsageError
from verify.sweep.tally import Tally, from_record, to_record

SCHEMA = "mla-merge-sweep-state/1"
_FOLDER = "state"
_HEADER = "header.json"


class State:
    """The files below the folder of a sweep."""

    def __init__(self, out: Path, header: Mapping[str, Any], *, resume: bool) -> None:
        """Begin anew, or go on with a sweep of the same header; UsageError, in one line, otherwise."""
        self._folder = out / _FOLDER
        header = json.loads(json.dumps({"schema": SCHEMA, **header}))
        if resume:
            found = read_header(out)
            # What the command line says may differ in how a sweep is shown and how long it may take.
            for name in (name for name in (*header, *found) if name != "arguments"):
                if found.get(name) != header.get(name):
                    raise UsageError(
                        f"--resume {out}: {name} was {found.get(name)!r} and now is {header.get(name)!r}; a "
                        "sweep goes on with what it began with"
                    )
            return
        for file in self._folder.glob("*.json") if self._folder.is_dir() else ():
            file.unlink()
        try:
            write_text(self._folder / _HEADER, json.dumps(header, indent=1) + "\n")
        except OSError as error:
            raise UsageError(f"--out {out}: {error.strerror}; name another folder") from None

    def load(self, unit: str) -> tuple[int, Tally]:
        """Return how many calls of a unit were made, and what they gave; UsageError if that is damaged."""
        file = self._file(unit)
        if not file.exists():
            return 0, Tally()
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            return int(record["calls"]), from_record(record["tally"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(f"{file}: damaged ({error!r}); delete it, and this unit is swept anew") from None

    def save(self, unit: str, calls: int, tally: Tally) -> None:
        """Write down how far a unit is: when this returns, no end of the process can undo it."""
        record = {"calls": calls, "tally": to_record(tally)}
        try:
            # Infinite errors are written as JSON's extension does: the file is read by this module alone.
            write_text(self._file(unit), json.dumps(record) + "\n")
        except OSError as error:
            raise UsageError(
                f"{self._file(unit)}: {error.strerror}; what was swept until now is safe there: make room, "
                f"then go on with --resume {self._folder.parent}"
            ) from None

    def _file(self, unit: str) -> Path:
        return self._folder / f"{unit}.json"


def read_header(out: Path) -> dict[str, Any]:
    """Return what a sweep began with; UsageError where there is none."""
    file = out / _FOLDER / _HEADER
    try:
        header = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"--resume {out}: {file}: {error.strerror}; there is no sweep to go on with"
        ) from None
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise UsageError(f"--resume {out}: {file} is no header of a sweep")
    return header
