"""A report as one HTML page that opens offline and needs no scripts. Needs jinja2 and matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from reports.markdown import verdict_word
from reports.movers import Mover, movers
from reports.plots import draw
from reports.records import Finding, Report
from reports.run_tables import config_table, method_table, reason_tables, search_words, speed_table
from reports.strata import Stratum
from reports.tables import (
    ROWS,
    Table,
    bounds_table,
    ledger_table,
    movers_table,
    number_table,
    segment_table,
    shown,
    worst_table,
)

_FINDINGS = 100  # shown; report.json holds them all
_NOTES = 20
_LINKS = ("https://", "http://")


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """A finding as the page shows it."""

    finding: Finding
    """What it shows."""
    anchor: str
    """Its name within the page."""
    ulp: str
    """The error."""
    issue: str
    """Where it is known, if that is a link."""
    facts: str
    """Case, place and inputs, a line each."""
    numbers: Table | None
    """Got and exact."""
    segments: Table | None
    """The row's segments."""
    files: tuple[str, ...]
    """Case and script, where they lie beside the page."""


def to_html(report: Report, baseline: Report | None = None, folder: Path | None = None) -> str:
    """Write the page; `folder` is where it will lie, so that it can link the files that lie beside it."""
    moved = movers(baseline, report) if baseline is not None else ()
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    pages = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    pages.filters["short"] = shown
    text = pages.get_template("page.html").render(
        report=report,
        word=verdict_word(report),
        lead=_lead(report),
        notes=report.notes[:_NOTES],
        facts=_facts(report),
        changed=_changed(moved) if baseline is not None else None,
        bounds=bounds_table(report),
        numbers=shown(", ".join(f"{name} {value}" for name, value in report.bounds["used"].items()), 400),
        ledger=ledger_table(report.ledger) if report.ledger else None,
        worst=worst_table(report.strata),
        said_of_worst=_said_of_worst(report.strata),
        findings=[_finding(number, one, folder) for number, one in enumerate(report.findings[:_FINDINGS], 1)],
        said_of_findings=_said_of_findings(report.findings),
        measured={stratum.key.result for stratum in report.strata if stratum.numbers},
        search=search_words(report.coverage),
        reasons=reason_tables(report.totals),
        speed=speed_table(report.totals),
        method=method_table(report),
        config=config_table(report.run.get("config", {})),
        plots=draw(report, moved),
    )
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def _lead(report: Report) -> str:
    totals = report.totals
    said = f"{totals['cases']:,} cases, {totals['values']:,} values judged against the exact result"
    if verdict_word(report) == "PASS":
        return f"{said}: every one within its bound."
    if report.run["status"] == "judged":
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in report.findings)) or "see the strata"
        return f"{said}: {totals['failed']:,} cases are wrong ({shown(kinds, 200)})."
    return f"{said}. The run was {report.run['status']}; this is no verdict on the kernel."


def _facts(report: Report) -> list[dict[str, str]]:
    worst = max((stratum.margin for stratum in report.strata), default=0.0)
    judged = {
        result: max((one.judged_ulp for one in report.strata if one.key.result == result), default=0.0)
        for result in ("output", "lse")
    }
    values = {
        "values judged": f"{report.totals['values']:,}",
        "cases failed": f"{report.totals['failed']:,}",
        "worst margin": f"{worst:.4g}",
        "judged ulp, output": f"{judged['output']:.4g}",
        "judged ulp, lse": f"{judged['lse']:.4g}",
        "known": f"{report.totals['known']:,}",
        f"{report.run['mode']} mode": shown(report.environment["device"], 40),
        "profile": shown(f"{report.run['profile']}, seed {report.run['seed']}", 40),
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def _changed(moved: Sequence[Mover]) -> dict[str, Any]:
    vanished = sum(mover.vanished for mover in moved)
    appeared = sum(mover.appeared for mover in moved)
    worse = sum(mover.margin_change > 0 or mover.failed_change > 0 for mover in moved)
    better = sum(mover.margin_change < 0 for mover in moved)
    return {
        "said": (
            f"Of {len(moved)} strata {worse} are worse than in the baseline, {better} came off better, "
            f"{vanished} are no longer judged and {appeared} are new."
        ),
        "table": movers_table(moved),
    }


def _said_of_worst(strata: Sequence[Stratum]) -> str:
    shown = min(len(strata), ROWS)
    return f"The {shown} of {len(strata)} strata that failed or came nearest to their bound"


def _said_of_findings(findings: Sequence[Finding]) -> str:
    known = sum(bool(finding.issue) for finding in findings)
    said = f"{len(findings)} findings" + (f", {known} of them known" if known else "")
    more = len(findings) - _FINDINGS
    return said + (f"; {more:,} more are in report.json" if more > 0 else "") + ", the most frequent first"


def _finding(number: int, finding: Finding, folder: Path | None) -> _Shown:
    shape = " ".join(f"{name}={size}" for name, size in finding.shape.items())
    lines = [
        f"case   {shape}{' (shrunk)' if finding.shrunk else ''}, first seen in {shown(finding.case, 200)}"
    ]
    if finding.where is not None:
        lines.append("where  " + " ".join(f"{name} {index}" for name, index in finding.where.items()))
    lines += [
        f"{shown(name, 20):<6} {shown(value, 500)}" for name, value in list(finding.values.items())[:12]
    ]
    return _Shown(
        finding=finding,
        anchor=f"finding-{number}",
        ulp="" if finding.ulp is None else f"{finding.ulp:.4g}",
        issue=finding.issue if finding.issue.startswith(_LINKS) else "",
        facts="\n".join(lines),
        numbers=number_table(finding),
        segments=segment_table(finding),
        files=_files(finding, folder),
    )


def _files(finding: Finding, folder: Path | None) -> tuple[str, ...]:
    """Return the files of a finding that lie in or below the folder of the page, as relative links."""
    name = Path(finding.repro["file"]).name
    if folder is None or not name or "\0" in name:
        return ()
    beside = (Path("findings") / name, (Path("findings") / name).with_suffix(".py"))
    return tuple(file.as_posix() for file in dict.fromkeys(beside) if (folder / file).is_file())
