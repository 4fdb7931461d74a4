"""The tables of a report's page about errors and findings, as rows of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.movers import Mover
from reports.records import Finding, Report
from reports.strata import Stratum, StratumKey, pooled

ROWS = 40
"""Rows of a table that has no natural end; report.json holds all of them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row."""

    cells: tuple[str, ...]
    """Its text, cell by cell."""
    wrong: bool = False
    """Whether it tells of something that is wrong."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a header."""

    header: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[Row, ...]
    """The rows, the most important first."""
    numeric: frozenset[int] = frozenset()
    """Columns that hold numbers."""
    caption: str = ""
    """What the table shows, where a heading does not say so."""


def shown(text: object, longest: int) -> str:
    """Return a text as a page shows it: on as many lines as it has, cut where it grows too long."""
    whole = str(text)
    whole = "".join(
        letter if letter in "\n\t" or letter.isprintable() else "�" for letter in whole[: longest + 1]
    )
    return whole if len(whole) <= longest else whole[: longest - 1] + "…"


def bounds_table(report: Report) -> Table:
    """Return errors, margins and witnesses by dtype, domain and result; an lse is float32 for every dtype."""
    groups = pooled(
        report.strata,
        lambda key: StratumKey(
            "", key.domain, key.dtype if key.result == "output" else "float32", key.result
        ),
    )
    ordered = sorted(groups.values(), key=lambda one: (one.key.result != "output", one.key))
    rows = [
        Row(
            cells=(
                one.key.result,
                one.key.dtype,
                one.key.domain,
                f"{one.outputs:,}",
                f"{one.failed:,}",
                _number(one.max_ulp),
                _number(one.judged_ulp),
                _number(one.margin),
                f"{one.misrounded_fraction:.3g}",
                shown(one.witness, 80),
            ),
            wrong=one.failed > 0,
        )
        for one in ordered[:ROWS]
    ]
    return Table(
        header=(
            *("result", "format", "domain", "values", "failed", "max ulp", "judged ulp", "margin"),
            *("misrounded", "witness"),
        ),
        rows=tuple(rows),
        numeric=frozenset(range(3, 9)),
    )


def worst_table(strata: Sequence[Stratum]) -> Table:
    """Return the strata that failed, then those that came nearest to their bound."""
    ordered = sorted(strata, key=lambda one: (one.failed == 0, -one.margin, one.key))
    rows = [
        Row(
            cells=(
                shown(one.key.family, 40),
                one.key.dtype,
                one.key.result,
                f"{one.outputs:,}",
                f"{one.failed:,}",
                _number(one.max_ulp),
                _number(one.margin),
                _number(one.quantile(0.999)),
                shown(one.witness, 80),
            ),
            wrong=one.failed > 0,
        )
        for one in ordered[:ROWS]
    ]
    return Table(
        header=("family", "dtype", "result", "values", "failed", "max ulp", "margin", "p99.9", "witness"),
        rows=tuple(rows),
        numeric=frozenset(range(3, 8)),
    )


def movers_table(moved: Sequence[Mover]) -> Table:
    """Return the strata that changed, the worst first."""
    rows = [
        Row(
            cells=(
                "/".join(shown(part, 40) for part in mover.key),
                _side(mover.before_margin, "not there"),
                _side(mover.after_margin, "no longer judged"),
                _side(mover.before_judged_ulp, ""),
                _side(mover.after_judged_ulp, ""),
                f"{mover.failed_change:+,}" if mover.failed_change else "",
            ),
            wrong=mover.vanished or mover.margin_change > 0 or mover.failed_change > 0,
        )
        for mover in moved
        if mover.moved
    ]
    return Table(
        header=("stratum", "margin before", "after", "judged ulp before", "after", "wrong values"),
        rows=tuple(rows[:ROWS]),
        numeric=frozenset(range(1, 6)),
        caption=f"The first {min(len(rows), ROWS)} of {len(rows)} strata that changed, the worst first",
    )


def ledger_table(ledger: Mapping[str, Any]) -> Table:
    """Return the known faults that were met, and the entries that met nothing."""
    states = (("stale", "stale"), ("overdue", "overdue"), ("met", "hits"))
    entries = [(state, one) for state, name in states for one in ledger.get(name, ())]
    rows = [
        Row(
            cells=(
                state,
                *(shown(one.get(name, ""), 200) for name in ("id", "issue", "review", "reason")),
            ),
            wrong=state != "met",
        )
        for state, one in entries[:ROWS]
    ]
    return Table(header=("state", "id", "issue", "review", "reason"), rows=tuple(rows))


def number_table(finding: Finding) -> Table | None:
    """Return what came and what is right in the three forms of a float; None for a fault without a value."""
    numbers = [(name, number) for name, number in (("got", finding.got), ("exact", finding.exact)) if number]
    rows = [
        Row(cells=(name, shown(number.dec, 60), shown(number.hex, 60), shown(number.bits, 20)))
        for name, number in numbers
    ]
    error = "" if finding.ulp is None else f"error {finding.ulp:.6g} ulp"
    error += "" if finding.steps is None else f", {finding.steps:,} steps"
    error += "" if finding.bound is None else f", bound {finding.bound:.6g} ulp"
    return Table(header=("", "decimal", "hex", "bits"), rows=tuple(rows), caption=error) if rows else None


def segment_table(finding: Finding) -> Table | None:
    """Return the segments of the failing row; None where they were not kept."""
    rows = [
        Row(
            cells=(
                str(one["segment"]),
                *(shown(f"{one[name]['dec']}  {one[name]['hex']}", 80) for name in ("m", "s", "o")),
                *(
                    ("empty", "")
                    if one["weight"] is None or one["share"] is None
                    else (f"{float(one['weight']):.4g}", f"{float(one['share']):.3%}")
                ),
            )
        )
        for one in finding.segments[:ROWS]
    ]
    if not rows:
        return None
    return Table(
        header=("segment", "m", "s", "o", "weight", "share of the mass"),
        rows=tuple(rows),
        numeric=frozenset((0, 4, 5)),
        caption=f"{len(rows)} of the row's {finding.shape['S']} segments, decimal and hex",
    )


def _side(value: float | None, absent: str) -> str:
    return absent if value is None else _number(value)


def _number(value: float) -> str:
    return f"{value:.4f}" if value < 1e4 else f"{value:.3e}"
