"""Measured bounds: what each result of a kernel was measured to reach, and is held to from then on.

They stand in the file of the bounds, a table [measured.X] for each output dtype X and one for the lse.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fuzz.formats import FORMATS
from reports.strata import StratumKey

RESULTS = (*FORMATS, "lse")
"""The names that a measured bound may have."""

ALLOWANCE = 0.01
"""By how many ulp a stratum may be worse than in a baseline, where nothing else is said."""

_PLACE = "measured"


@dataclass(frozen=True, kw_only=True)
class MeasuredBound:
    """One table [measured.X]."""

    ulp: float
    """What judged ulp may reach: |error| less the second term of the bounds."""
    allowance: float = ALLOWANCE
    """By how many ulp a stratum may be worse than in a baseline report."""
    judged_ulp: float
    """The largest one measured."""
    outputs: int
    """Values that were judged."""
    witness: str
    """The case that came nearest to its bound in the worst stratum, as verify.replay takes it, and where."""
    kernel: str
    """What was measured."""
    source_sha256: str
    """Of the file that defines it."""
    device: str
    """Where it ran."""
    mode: str
    """`device`, or `interpret` where Triton's interpreter ran it or would have."""
    versions: str
    """Of what computed."""
    date: str
    """When the run began, as 2026-12-01."""
    reason: str = ""
    """Why it was loosened, and from what; empty for one that never was since it was last tightened."""


def result_of(key: StratumKey) -> str:
    """Return the name of the measured bound that speaks of a stratum."""
    return "lse" if key.result == "lse" else key.dtype


def read_measured(file: Path) -> dict[str, MeasuredBound]:
    """Read the measured bounds of a file of bounds; ValueError, in one line, for one that is not whole."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get(_PLACE, {})
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from error
    if not isinstance(tables, dict):
        raise ValueError(f"{file}: {_PLACE} is {tables!r:.60}, wanted tables [{_PLACE}.X]")
    bounds = {}
    for name, table in tables.items():
        if name not in RESULTS:
            raise ValueError(f"{file}: [{_PLACE}.{name}] is of nothing; there are {', '.join(RESULTS)}")
        try:
            bounds[name] = _bound(table)
        except ValueError as error:
            raise ValueError(f"{file}: [{_PLACE}.{name}]: {error}") from None
    return bounds


def _bound(table: Any) -> MeasuredBound:
    if not isinstance(table, dict):
        raise ValueError(f"it is {table!r:.60}, wanted a table")
    parts = {part.name: part for part in fields(MeasuredBound)}
    for name in table:
        if name not in parts:
            raise ValueError(f"{name!r:.60} is unknown; it holds {', '.join(parts)}")
    for name, part in parts.items():
        if name not in table:
            if name in ("allowance", "reason"):
                continue
            raise ValueError(f"{name} is missing")
        value, kind = table[name], str(part.type)
        right = {
            "float": type(value) in (int, float) and 0 <= value < math.inf,
            "int": type(value) is int and value >= 0,
            "str": isinstance(value, str),
        }[kind]
        if not right:
            wanted = {"float": "a finite number, at least 0", "int": "a count", "str": "text"}[kind]
            raise ValueError(f"{name} is {value!r:.60}, wanted {wanted}")
    return MeasuredBound(**table)


def rewritten(text: str, bounds: Mapping[str, MeasuredBound]) -> str:
    """Return a file's text with these measured bounds, all else as it was, comments included.

    ValueError when the file is written in a way that this cannot be done to.
    """
    before = tomllib.loads(text)
    lines = text.splitlines()
    for name, bound in bounds.items():
        if before.get(_PLACE, {}).get(name) == _table(bound):
            continue
        begun, ended = _block(lines, [name])
        comments = [line for line in lines[begun:ended] if line.startswith("#")]
        if begun == ended:
            begun = ended = _block(lines, RESULTS)[1]
            lines[begun:ended] = ["", *_written(name, bound)]
        else:
            header, *rest = _written(name, bound)
            lines[begun:ended] = [header, *comments, *rest]
    changed = "\n".join(lines).lstrip("\n") + "\n"
    wanted = {**before, _PLACE: {name: _table(bound) for name, bound in bounds.items()}}
    try:
        kept = tomllib.loads(changed) == wanted
    except ValueError:
        kept = False
    if not kept:
        raise ValueError(f"its tables [{_PLACE}.X] are not written as this command writes them")
    return changed


def _block(lines: list[str], names: Iterable[str]) -> tuple[int, int]:
    """Return where the last of the named tables begins and ends, without comments of what follows.

    Where there is none, both are the end of the lines.
    """
    header = re.compile(rf"\[{_PLACE}\.({'|'.join(map(re.escape, names))})\]\s*(#.*)?")
    begun = max((i for i, line in enumerate(lines) if header.fullmatch(line)), default=len(lines))
    ended = next((i for i in range(begun + 1, len(lines)) if lines[i].startswith("[")), len(lines))
    while ended > begun and (not lines[ended - 1].strip() or lines[ended - 1].startswith("#")):
        ended -= 1
    return begun, ended


def _written(name: str, bound: MeasuredBound) -> list[str]:
    lines = [f"[{_PLACE}.{name}]"]
    for key, value in _table(bound).items():
        # JSON's strings are TOML's, but for one character.
        text = (
            json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            if isinstance(value, str)
            else repr(value)
        )
        lines.append(f"{key} = {text}")
    return lines


def _table(bound: MeasuredBound) -> dict[str, Any]:
    table = {part.name: getattr(bound, part.name) for part in fields(bound)}
    return {name: value for name, value in table.items() if name != "reason" or value}
