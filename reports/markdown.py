"""A report as Markdown that pastes into a pull request: the verdict, what failed, the worst strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.movers import Mover, movers
from reports.records import Finding, Report
from reports.strata import Stratum

_BYTES = 60_000
_ROWS = 40  # strata shown; report.json holds them all
_FINDINGS = 20
_NOTES = 20
_VALUES = 12  # of a finding
_GROUPS = 4  # of a finding
_MOVERS = 20
_TEXT = 600  # letters of a text
_REASONS = 20


def to_markdown(report: Report, baseline: Report | None = None) -> str:
    """Write the summary, worst first; with a baseline, what changed since."""
    parts = [
        f"# {_cell(verdict_line(report))}",
        *(f"> note: {_cell(note)}" for note in report.notes[:_NOTES]),
    ]
    parts.append(_setting(report))
    if report.findings:
        parts.append(f"## Findings ({len(report.findings)})")
        parts += [_finding(finding) for finding in report.findings[:_FINDINGS]]
        if len(report.findings) > _FINDINGS:
            parts.append(f"… and {len(report.findings) - _FINDINGS} more in report.json.")
    if baseline is not None:
        parts += ["## What changed against the baseline", _changed(movers(baseline, report))]
    parts += ["## Errors by dtype", _by_dtype(report.strata)]
    for title, name in (("Unsupported", "unsupported"), ("Out of domain", "out_of_domain")):
        if report.totals.get(name):
            parts += [f"## {title}", _reasons(report.totals[name], title)]
    if report.totals.get("laws"):
        parts += ["## Laws", _laws(report.totals["laws"])]
    worst = sorted(report.strata, key=lambda stratum: (stratum.failed == 0, -stratum.margin))
    parts += ["## Worst strata", _strata(worst[:_ROWS])]
    return _within("\n\n".join(parts) + "\n")


def _within(text: str) -> str:
    """Cut a page that hostile data made too long for a pull request, at the end of a line."""
    data = text.encode(errors="backslashreplace")  # half a surrogate pair has no bytes
    if len(data) <= _BYTES:
        return text
    kept = data[:_BYTES].decode(errors="ignore").rpartition("\n")[0]
    return f"{kept}\n\n… and more in report.json.\n"


def verdict_word(report: Report) -> str:
    """Return the verdict: PASS, FAIL, INTERRUPTED or NOTHING JUDGED."""
    # With a ledger of known faults a run may fail for the ledger alone.
    judged = "FAIL" if report.totals["failed"] or report.run["exit_code"] == 1 else "PASS"
    return {"judged": judged, "interrupted": "INTERRUPTED"}.get(report.run["status"], "NOTHING JUDGED")


def verdict_line(report: Report) -> str:
    """Return the one line that is the verdict, the last on stdout."""
    totals = report.totals
    outputs = [stratum for stratum in report.strata if stratum.key.result == "output"]
    lses = [stratum for stratum in report.strata if stratum.key.result == "lse"]
    margin = _short(_worst(report.strata, "margin"), 3)
    judged, judged_lse = (_short(_worst(group, "judged_ulp"), 4) for group in (outputs, lses))
    return (
        f"{verdict_word(report)} {_line(report.subject['name'])} "
        f"cases {totals['cases']} outputs {_count(totals['outputs'])} "
        f"worst margin {margin} judged {judged} ulp lse {judged_lse} ulp "
        f"fail {totals['failed']} known {totals['known']} "
        f"unsupported {sum(totals['unsupported'].values())} seed {report.run['seed']}"
    )


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if value < 1e4 else f"{value:.3e}"


def _worst(strata: tuple[Stratum, ...] | list[Stratum], name: str) -> float:
    return max((getattr(stratum, name) for stratum in strata), default=0.0)


def _count(number: int) -> str:
    return str(number) if number < 100_000 else f"{number:.1e}".replace("e+0", "e")


def _cell(text: str) -> str:
    # A kernel or a message may hold anything.
    return _line(text).replace("|", "\\|").replace("<", "&lt;")


def _line(text: str) -> str:
    """Return a text as one line that is not too long."""
    whole = " ".join(text[: _TEXT + 1].split())
    return whole if len(whole) <= _TEXT else whole[: _TEXT - 1] + "…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table; whatever a cell holds, it stays one cell of plain text."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _changed(moved: Sequence[Mover]) -> str:
    changed = [mover for mover in moved if mover.moved]
    if not changed:
        return f"Nothing: {len(moved)} strata are as they were."
    rows = []
    for mover in changed[:_MOVERS]:
        sides = [(mover.before_margin, mover.after_margin), (mover.before_judged_ulp, mover.after_judged_ulp)]
        said = [" → ".join("none" if side is None else _short(side, 4) for side in pair) for pair in sides]
        rows.append(("/".join(mover.key), *said, f"{mover.failed_change:+d}"))
    if len(changed) > _MOVERS:
        rows.append((f"{len(changed) - _MOVERS} more in report.html", "", "", ""))
    return table(("stratum", "margin", "judged ulp", "wrong values"), rows)


def _setting(report: Report) -> str:
    environment, run, totals = report.environment, report.run, report.totals
    planned = f" of {totals['planned']} planned" if totals["planned"] is not None else ""
    streams = ", ".join(f"{name} {count}" for name, count in run.get("streams", {}).items())
    cases = f"{totals['cases']}{planned} cases{f' ({streams})' if streams else ''}"
    time = f"{totals['elapsed_s']:.1f} s"
    time += f", {totals['compile_s']:.1f} s of compiling" if totals.get("compile_s") else ""
    stopped = f", stopped by {run['stopped_by']}" if run["stopped_by"] else ""
    shard = f", shard {run['shard']}" if run.get("shard", "0/1") != "0/1" else ""
    rows = [
        ("kernel", f"{report.subject['import_path']} (source sha256 {report.subject['source_sha256'][:12]})"),
        ("mode", f"{run['mode']} on {environment['device']}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in environment["versions"].items())),
        ("profile", f"{run['profile']}, seed {run['seed']}{shard}: {cases} in {time}{stopped}"),
        (
            "oracle",
            f"certified {report.oracle['certified_fraction']:.0%}, at most {report.oracle['bits']} bits",
        ),
        (
            "revision",
            f"{report.tool['revision'][:12]}{' with local changes' if report.tool['dirty'] else ''}",
        ),
    ]
    if report.coverage.get("cells"):
        rows.append(("search", _search(report.coverage)))
    return table(("", "measured on"), rows)


def _search(coverage: Mapping[str, Any]) -> str:
    said = [f"{len(coverage['cells'])} behaviour cells reached"]
    for name, stream in (("discovery", "drawn cases"), ("hunt_discovery", "the hunt")):
        if coverage.get(name):
            number, margin = coverage[name][-1]
            said.append(
                f"{stream} came no nearer to a bound after case {number} (margin {float(margin):.6g})"
            )
    return "; ".join(said)


def _reasons(counts: Mapping[str, int], title: str) -> str:
    what = "cases" if title == "Unsupported" else "rows"
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [(reason, str(count)) for reason, count in most[:_REASONS]]
    if len(most) > _REASONS:
        shown.append((f"{len(most) - _REASONS} other reasons", str(sum(n for _, n in most[_REASONS:]))))
    return table(("reason", what), shown)


def _laws(laws: Mapping[str, Mapping[str, int]]) -> str:
    rows = [(law, str(seen.get("cases", 0)), str(seen.get("rows", 0))) for law, seen in laws.items()]
    return table(("law", "cases", "rows it spoke of"), rows)


def _finding(finding: Finding) -> str:
    lines = [f"### {finding.kind} in {finding.result or 'the call'} ({finding.similar} cases)", ""]
    lines += [_cell(finding.message), ""]
    # Indented, it is code; a second line of one text would fall out of it.
    lines += ["    " + line[:8] + _line(line[8:]) for line in finding_lines(finding)]
    return "\n".join(lines)


def finding_lines(finding: Finding) -> list[str]:
    """Return the facts of a finding as aligned lines: inputs, got, exact, ulp, bound, replay command."""
    lines = []
    shape = " ".join(f"{name}={size}" for name, size in finding.shape.items())
    lines.append(f"case    {shape}{' (shrunk)' if finding.shrunk else ''}, first seen in {finding.case}")
    for group in finding.groups[1 : 1 + _GROUPS]:
        lines.append(f"also    {group['cases']} cases of {group['group']}, first {group['case']}")
    if len(finding.groups) > 1 + _GROUPS:
        lines.append(f"also    {len(finding.groups) - 1 - _GROUPS} more groups of cases")
    if finding.where is not None:
        lines.append("where   " + " ".join(f"{name} {index}" for name, index in finding.where.items()))
    values = list(finding.values.items())
    lines += [f"{name:<7} {value}" for name, value in values[:_VALUES]]
    if len(values) > _VALUES:
        lines.append(f"and     {len(values) - _VALUES} more values")
    for name, number in (("got", finding.got), ("exact", finding.exact)):
        if number is not None:
            lines.append(f"{name:<7} {number.dec}  {number.hex}  {number.bits}".rstrip())
    if finding.ulp is not None:
        bound = f", bound {finding.bound:.6g}" if finding.bound is not None else ""
        steps = f", {finding.steps} steps" if finding.steps is not None else ""
        lines.append(f"error   {finding.ulp:.6g} ulp{steps}{bound}")
    if finding.diagnosis:
        lines.append(f"looks   {finding.diagnosis}"[:400])
    lines.append(f"replay  {finding.repro['command']}")
    return lines


def _by_dtype(strata: tuple[Stratum, ...]) -> str:
    merged: dict[tuple[str, str], list[Stratum]] = {}
    for stratum in strata:
        name = "lse" if stratum.key.result == "lse" else stratum.key.dtype
        merged.setdefault((name, stratum.key.domain), []).append(stratum)
    rows = []
    for (name, domain), group in sorted(merged.items()):
        numbers = sum(stratum.numbers for stratum in group)
        wrong = sum(stratum.misrounded for stratum in group) / numbers if numbers else 0.0
        row = (_short(_worst(group, "max_ulp"), 4), _short(_worst(group, "judged_ulp"), 4))
        outputs = _count(sum(stratum.outputs for stratum in group))
        rows.append((name, domain, outputs, *row, _short(_worst(group, "margin"), 4), f"{wrong:.2e}"))
    return table(("result", "domain", "values", "max ulp", "judged ulp", "margin", "misrounded"), rows)


def _strata(strata: Sequence[Stratum]) -> str:
    header = (
        "family",
        "dtype",
        "result",
        "values",
        "failed",
        "max ulp",
        "judged ulp",
        "margin",
        "p99.9",
        "witness",
    )
    rows = []
    for stratum in strata:
        key = stratum.key
        measured = (f"{value:.4g}" for value in (stratum.max_ulp, stratum.judged_ulp, stratum.margin))
        counts = (str(stratum.outputs), str(stratum.failed))
        tail = (f"{stratum.quantile(0.999):.4g}", stratum.witness)
        rows.append((key.family, key.dtype, key.result, *counts, *measured, *tail))
    return table(header, rows)
