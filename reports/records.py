"""The records of a report, schema `mla-merge-report/1`.

Plain data: strings, numbers, dictionaries and tuples, so that a report can be read, merged and drawn
on a machine that has neither torch nor a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reports.regimes import Regime
from reports.strata import Stratum

SCHEMA = "mla-merge-report/1"


@dataclass(frozen=True, kw_only=True)
class Number:
    """One float, in the three forms in which people look at it."""

    dec: str
    """Shortest decimal that reads back to it, `nan` and `inf` included."""
    hex: str
    """C99 hexadecimal."""
    bits: str
    """Bit pattern in the format of the result."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fault: what was wrong, the smallest case that shows it, how to see it again."""

    id: str
    """Kind and a hash of the stored case: the same fault keeps its id."""
    kind: str
    """WRONG_VALUE, SPURIOUS_NAN, CRASH, … as the interface lists them."""
    detector: str
    """What noticed it: `oracle`, `marker`, `guard band`, `input copy`, `signature`, `isolation`."""
    family: str
    """Family of the case that first showed it."""
    result: str
    """`output`, `lse`, or empty when the fault is of the whole call."""
    message: str
    """One sentence for people."""
    recipe: dict[str, Any] | None
    """The recipe of the case that first showed it; None for an explicit case."""
    case: str
    """That case as verify.replay takes it: SEED/NUMBER or a file."""
    shape: dict[str, int]
    """T, H, S, R and tile of the stored case."""
    where: dict[str, int] | None
    """token, head and, for an output, column of the worst value in the stored case."""
    got: Number | None
    """What the kernel returned there."""
    exact: Number | None
    """What is right there: the correctly rounded value."""
    ulp: float | None
    """Signed error there, in ulp; None where it is not a matter of arithmetic."""
    steps: int | None
    """Distance from the correctly rounded value in representable numbers."""
    bound: float | None
    """The bound on |error| there, in ulp."""
    values: dict[str, str]
    """Inputs of the failing row of the stored case, for people: L, tile, m, s, o."""
    shrunk: bool
    """Whether the stored case is smaller than the one that was drawn."""
    similar: int
    """How many cases of the run showed the same fault, this one included."""
    groups: tuple[dict[str, Any], ...] = ()
    """The groups of faults that shrank to the stored case, the one described here first, each with `group`
    (its name, ending in /FAMILY), `first` (the rank of the first case among those of all shards), `case`
    (that case) and `cases`, which add up to `similar`."""
    repro: dict[str, str]
    """file, sha256 and command of the replay."""
    issue: str = ""
    """Where the fault is known, as a link; empty for a new one."""
    diagnosis: str = ""
    """What kind of mistake explains every wrong value of the stored case; empty where none was recognised."""
    proof: str = ""
    """The enclosure of the exact value that decides how it rounds, in one line."""
    segments: tuple[dict[str, Any], ...] = ()
    """Active segments of the failing row of the stored case, the heaviest ones if there are many: `segment`
    (its index), `m`, `s` and `o` (each with `dec` and `hex`), `weight` 2^(m - M) and `share` of the mass,
    None for a segment that is empty."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything a run found out, and on what."""

    tool: dict[str, Any]
    """name, version, git revision, dirty."""
    run: dict[str, Any]
    """id, started, finished, argv, profile, max_cases, seed, families, dtypes, laws, shard, streams, workers,
    mode, status, stopped_by, exit_code, config; after a combination `shards`: what each of them had apart."""
    environment: dict[str, Any]
    """device, arch, driver, library versions, variables that change numerics."""
    subject: dict[str, Any]
    """name, import path, source sha256."""
    oracle: dict[str, Any]
    """certified fraction, values per tier, most bits used."""
    bounds: dict[str, Any]
    """file, sha256, the numbers used."""
    totals: dict[str, Any]
    """planned, cases, passed, failed, outputs, values, known, unsupported {reason: n},
    out_of_domain {reason: n}, laws {law: {cases, rows}}, elapsed_s, compile_s, outputs_per_s."""
    strata: tuple[Stratum, ...] = ()
    """Worst margin first."""
    regimes: tuple[Regime, ...] = ()
    """The same errors by number of segments and conditioning; empty where they were not gathered."""
    ledger: dict[str, Any] = field(default_factory=dict)
    """path and sha256 of the list of known faults, hits and stale entries; empty for a run without one."""
    findings: tuple[Finding, ...] = ()
    """Most frequent first."""
    coverage: dict[str, Any] = field(default_factory=dict)
    """cases {"family dtype": n}, cells {cell: visits}, discovery and hunt_discovery [[case, margin], …]."""
    artifacts: tuple[dict[str, str], ...] = ()
    """path and sha256 of the files written beside the report."""
    notes: tuple[str, ...] = ()
    """What a reader should know before the verdict, one line each."""


def gating_notes(report: Report) -> tuple[str, ...]:
    """Return the notes that fail a report whatever its findings are: a gate's, and those of known faults."""
    return tuple(note for note in report.notes if note.startswith(("gate, ", "ledger: ")))
