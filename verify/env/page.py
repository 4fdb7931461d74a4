"""An environment and a passport as text for a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from reports.records import Number
from verify.env.passport import Entry, Passport
from verify.env.probe import REFUSED

_WIDTH = 150


def environment_lines(environment: Mapping[str, Any], mode: str, tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run is made on, a line each: device, mode, versions, variables, this suite."""
    rows = {name: environment[name] for name in ("device", "arch", "driver", "cpus") if name in environment}
    rows["mode"] = mode
    rows |= environment["versions"]
    state = ", with changes" if tool["dirty"] else ""
    rows[tool["name"]] = f"{tool['version']}, revision {tool['revision'][:12]}{state}"
    rows |= environment["variables"]
    width = max(map(len, rows))
    yield from (f"{name:<{width}}  {value}" for name, value in rows.items())


def passport_lines(passport: Passport) -> Iterator[str]:
    """Yield the answers, under a heading for each engine: name, answer, what was measured, a witness."""
    for engine, entries in groupby(passport.entries, lambda entry: entry.engine):
        rows = list(entries)
        width = max(len(entry.name) for entry in rows)
        yield f"\n{engine}"
        for entry in rows:
            mark = " " if entry.answer == entry.answers[0] else "*"
            said = f"{mark} {entry.name:<{width}}  {entry.answer}"
            details = "; ".join(part for part in (measured_text(entry), witness_text(entry)) if part)
            line = f"{said}   ({details})" if details else said
            yield line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
    yield "\n* otherwise than IEEE 754, or the contract of a merge where that asks for more, or not at all"


def verdict(passport: Passport) -> str:
    """Return the last line: how many questions were answered, and how."""
    refused = sum(entry.answer == REFUSED for entry in passport.entries)
    expected = sum(entry.answer == entry.answers[0] for entry in passport.entries)
    counts = (
        f"as expected {expected} otherwise {len(passport.entries) - expected - refused} refused {refused}"
    )
    where = f"{passport.environment['device']} {passport.mode}"
    return f"PASSPORT {where} probes {len(passport.entries)} {counts} seed {passport.seed}"


def measured_text(entry: Entry) -> str:
    """Return the numbers behind an answer, in one line."""
    return ", ".join(f"{name} {_short(value)}" for name, value in entry.measured.items())


def witness_text(entry: Entry) -> str:
    """Return operands and result in hexadecimal, in one line; empty for a refusal."""
    seen = entry.witness
    if seen is None:
        return ""
    said = f"{', '.join(map(_hex, seen.operands))} → {_hex(seen.got)}"
    return said if seen.right in (None, seen.got) else f"{said}, right {_hex(seen.right)}"


def _hex(number: Number | None) -> str:
    return "" if number is None else number.hex


def _short(value: float | str) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
