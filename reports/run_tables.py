"""The tables of a report's page about the run: what it judged, how it searched, on what, by which options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.records import Report
from reports.tables import ROWS, Row, Table, shown


def reason_tables(totals: Mapping[str, Any]) -> list[Table]:
    """Return what was not judged and why, and how often each law spoke."""
    tables = []
    for caption, name, what in (
        ("Not supported by the kernel, by reason", "unsupported", "cases"),
        ("Outside what the bounds speak of, by reason", "out_of_domain", "rows"),
    ):
        counts = sorted(totals.get(name, {}).items(), key=lambda item: (-item[1], item[0]))
        rows = [Row(cells=(shown(reason, 120), f"{count:,}")) for reason, count in counts[:ROWS]]
        if rows:
            tables.append(
                Table(header=("reason", what), rows=tuple(rows), numeric=frozenset((1,)), caption=caption)
            )
    laws = [
        Row(cells=(shown(law, 40), f"{seen['cases']:,}", f"{seen['rows']:,}"))
        for law, seen in list(totals.get("laws", {}).items())[:ROWS]
    ]
    if laws:
        tables.append(
            Table(
                header=("law", "cases", "rows it spoke of"),
                rows=tuple(laws),
                numeric=frozenset((1, 2)),
                caption="Laws checked",
            )
        )
    return tables


def search_words(coverage: Mapping[str, Any]) -> str:
    """Say how much ground the search covered."""
    cells = coverage.get("cells") or {}
    once = sum(visits == 1 for visits in cells.values())
    if not cells:
        return "This run kept no map of what its rows did inside the merge."
    return (
        f"Rows fell into {len(cells):,} behaviour cells (spread of the maxima, cancellation, empty and "
        f"active segments, size of the result, dtype); {once:,} of them once."
    )


def speed_table(totals: Mapping[str, Any]) -> Table:
    """Return what the run took: the whole suite's speed, not the kernel's alone."""
    rate = totals.get("outputs_per_s", 0.0)
    rows = {
        "outputs judged a second": f"{float(rate):,.0f}",
        "elapsed, s": f"{totals['elapsed_s']:,.1f}",
        "of it compiling, s of all processes": f"{totals.get('compile_s', 0.0):,.1f}",
        "outputs": f"{totals['outputs']:,}",
    }
    return Table(
        header=("kernel, oracle and judge together", ""),
        rows=tuple(Row(cells=item) for item in rows.items()),
        numeric=frozenset((1,)),
    )


def method_table(report: Report) -> Table:
    """Return what was run, on what, by what."""
    environment, run, tool, oracle = report.environment, report.run, report.tool, report.oracle
    machine = f"{environment['device']} ({environment['arch']}), {environment['cpus']} CPUs"
    versions = ", ".join(f"{name} {version}" for name, version in list(environment["versions"].items())[:30])
    variables = ", ".join(f"{name}={value}" for name, value in list(environment["variables"].items())[:60])
    rows = {
        "kernel": report.subject["import_path"],
        "source sha256": report.subject["source_sha256"],
        "mode": f"{run['mode']} on {machine}",
        "driver": environment.get("driver", ""),
        "versions": versions,
        "variables": variables,
        "suite": f"{tool['name']} {tool['version']}, revision {tool['revision'][:12]}"
        + (" with local changes" if tool["dirty"] else ""),
        "run": f"{run['id']}, {run['started']} to {run['finished']}, {run['workers']} processes",
        "shard": run.get("shard", "0/1"),
        "command": " ".join(run["argv"]),
        "ended by": run["stopped_by"] or "its last case",
        "oracle": f"{oracle['certified_fraction']:.2%} certified, at most {oracle['bits']} bits",
    }
    return Table(
        header=("", "measured on"),
        rows=tuple(Row(cells=(name, shown(value, 600))) for name, value in rows.items() if value != ""),
    )


def config_table(config: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the options of the run and where each came from."""
    rows = [
        Row(cells=(shown(name, 40), shown(_plain(one["value"]), 300), shown(one["source"], 60)))
        for name, one in list(config.items())[:ROWS]
    ]
    return Table(header=("option", "value", "from"), rows=tuple(rows), caption="Options")


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
