"""The numerics passport of a backend: every probe's answer, with what it was asked on; as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reports.records import Number
from verify.env.probe import Engine, Probe, Witness

SCHEMA = "mla-merge-passport/1"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One probe, asked of one engine."""

    engine: str
    """`triton` or `torch`."""
    name: str
    """The probe's."""
    question: str
    """In one sentence."""
    answers: tuple[str, ...]
    """What might have come out, besides a refusal."""
    answer: str
    """What did."""
    follows: str
    """What of a merge depends on it."""
    witness: Witness | None = None
    """Operands that show it; None for a refusal."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Numbers behind it, by name."""

    @property
    def key(self) -> str:
        """Engine and name: what two passports are compared by."""
        return f"{self.engine}: {self.name}"


@dataclass(frozen=True, kw_only=True)
class Passport:
    """The answers of one backend."""

    tool: Mapping[str, Any]
    """Version and revision of this suite."""
    environment: Mapping[str, Any]
    """As in a report: device, architecture, driver, versions, variables."""
    mode: str
    """`interpret` or `device`: how Triton ran."""
    seed: int
    """Of the points that are drawn."""
    entries: tuple[Entry, ...]
    """In the order of the registry, engine by engine."""


def ask_all(
    engines: Sequence[Engine],
    probes: Sequence[Probe],
    seed: int,
    progress: Callable[[int, int, str], None],
) -> Iterator[Entry]:
    """Ask every engine what it can be asked; `progress(done, all, name)` is called before each."""
    asked = [(engine, probe) for engine in engines for probe in probes if probe.needs <= engine.operations]
    for done, (engine, probe) in enumerate(asked):
        progress(done, len(asked), f"{engine.name}: {probe.name}")
        found = probe.ask(engine, seed)
        yield Entry(
            engine=engine.name,
            name=probe.name,
            question=probe.question,
            answers=probe.answers,
            answer=found.answer,
            follows=probe.follows,
            witness=found.witness,
            measured=found.measured,
        )


def to_json(passport: Passport) -> str:
    """Write a passport as JSON, a line for each probe; the same passport gives the same text."""
    about = {
        "schema": SCHEMA,
        **{name: getattr(passport, name) for name in ("tool", "environment", "mode", "seed")},
    }
    head = json.dumps(about, indent=1, allow_nan=False).removesuffix("\n}")
    rows = ",\n".join("  " + json.dumps(asdict(entry), allow_nan=False) for entry in passport.entries)
    return f'{head},\n "probes": [\n{rows}\n ]\n}}\n'


def is_passport(file: Path) -> bool:
    """Tell whether a file says that it is a passport, of whatever version."""
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(body, dict) and str(body.get("schema")).startswith("mla-merge-passport/")


def read_passport(file: Path) -> Passport:
    """Read a passport from a file; OSError where it cannot be read, ValueError where it is none."""
    body = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        said = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise ValueError(f"{file} has the schema {said!r}, {SCHEMA} is wanted: probe again")
    try:
        return Passport(
            tool=dict(body["tool"]),
            environment=dict(body["environment"]),
            mode=str(body["mode"]),
            seed=int(body["seed"]),
            entries=tuple(_entry(row) for row in body["probes"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is no whole passport ({error!r}): probe again") from None


def _entry(row: Mapping[str, Any]) -> Entry:
    values = {**row, "answers": tuple(row["answers"]), "measured": dict(row["measured"])}
    seen = row["witness"]
    if seen is not None:
        values["witness"] = Witness(
            operands=tuple(Number(**x) for x in seen["operands"]),
            got=Number(**seen["got"]),
            right=None if seen["right"] is None else Number(**seen["right"]),
        )
    return Entry(**values)
