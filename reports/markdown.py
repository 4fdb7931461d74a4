"""A report as Markdown that pastes into a pull request: the verdict, what failed, the worst strata."""

from __future__ import annotations

from collections.abc import Sequence

from reports.records import Finding, Report
from reports.strata import Stratum

_ROWS = 40  # strata shown; report.json holds them all
_FINDINGS = 20


def to_markdown(report: Report) -> str:
    """Write the summary, worst first."""
    parts = [f"# {verdict_line(report)}", _setting(report)]
    if report.findings:
        parts.append(f"## Findings ({len(report.findings)})")
        parts += [_finding(finding) for finding in report.findings[:_FINDINGS]]
        if len(report.findings) > _FINDINGS:
            parts.append(f"… and {len(report.findings) - _FINDINGS} more in report.json.")
    parts += ["## Errors by dtype", _by_dtype(report.strata)]
    worst = sorted(report.strata, key=lambda stratum: (stratum.failed == 0, -stratum.margin))
    parts += ["## Worst strata", _strata(worst[:_ROWS])]
    return "\n\n".join(parts) + "\n"


def verdict_line(report: Report) -> str:
    """Return the one line that is the verdict, the last on stdout."""
    totals = report.totals
    word = {"judged": "FAIL" if totals["failed"] else "PASS", "interrupted": "INTERRUPTED"}.get(
        report.run["status"], "NOTHING JUDGED"
    )
    outputs = [stratum for stratum in report.strata if stratum.key.result == "output"]
    lses = [stratum for stratum in report.strata if stratum.key.result == "lse"]
    margin = _short(_worst(report.strata, "margin"), 3)
    judged, judged_lse = (_short(_worst(group, "judged_ulp"), 4) for group in (outputs, lses))
    return (
        f"{word} {report.subject['name']} cases {totals['cases']} outputs {_count(totals['outputs'])} "
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
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table; whatever a cell holds, it stays one cell of plain text."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _setting(report: Report) -> str:
    environment, run, totals = report.environment, report.run, report.totals
    cases = f"{totals['cases']} of {totals['planned']} planned cases"
    stopped = f", stopped by {run['stopped_by']}" if run["stopped_by"] else ""
    rows = [
        ("kernel", f"{report.subject['import_path']} (source sha256 {report.subject['source_sha256'][:12]})"),
        ("mode", f"{run['mode']} on {environment['device']}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in environment["versions"].items())),
        ("profile", f"{run['profile']}, seed {run['seed']}: {cases} in {totals['elapsed_s']:.1f} s{stopped}"),
        (
            "oracle",
            f"certified {report.oracle['certified_fraction']:.0%}, at most {report.oracle['bits']} bits",
        ),
        (
            "revision",
            f"{report.tool['revision'][:12]}{' with local changes' if report.tool['dirty'] else ''}",
        ),
    ]
    return table(("", "measured on"), rows)


def _finding(finding: Finding) -> str:
    lines = [f"### {finding.kind} in {finding.result or 'the call'} ({finding.similar} cases)", ""]
    lines += [_cell(finding.message), ""]
    lines += ["    " + line for line in finding_lines(finding)]
    return "\n".join(lines)


def finding_lines(finding: Finding) -> list[str]:
    """Return the facts of a finding as aligned lines: inputs, got, exact, ulp, bound, replay command."""
    lines = []
    shape = " ".join(f"{name}={size}" for name, size in finding.shape.items())
    lines.append(f"case    {shape}{' (shrunk)' if finding.shrunk else ''}, first seen in {finding.case}")
    if finding.where is not None:
        lines.append("where   " + " ".join(f"{name} {index}" for name, index in finding.where.items()))
    lines += [f"{name:<7} {value}" for name, value in finding.values.items()]
    for name, number in (("got", finding.got), ("exact", finding.exact)):
        if number is not None:
            lines.append(f"{name:<7} {number.dec}  {number.hex}  {number.bits}".rstrip())
    if finding.ulp is not None:
        bound = f", bound {finding.bound:.6g}" if finding.bound is not None else ""
        lines.append(f"error   {finding.ulp:.6g} ulp, {finding.steps} steps{bound}")
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
