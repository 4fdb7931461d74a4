"""A report where a GitHub workflow shows it: the step's summary, and annotations on the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.markdown import to_markdown, verdict_line, verdict_word
from reports.records import Report, gating_notes

ANNOTATIONS = 10
"""At most; GitHub shows no more of one step."""
_MESSAGE = 1000

MODES = ("auto", "on", "off")
"""What may be asked for: auto is on inside a workflow."""


def wanted(mode: str, environment: Mapping[str, str]) -> bool:
    """Tell whether a run is to speak to GitHub."""
    return mode == "on" or (mode == "auto" and environment.get("GITHUB_ACTIONS") == "true")


def add_summary(report: Report, environment: Mapping[str, str], baseline: Report | None = None) -> None:
    """Append the report to the step's summary; nothing where there is no step. Raises OSError."""
    place = environment.get("GITHUB_STEP_SUMMARY")
    if place:
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(to_markdown(report, baseline) + "\n")


def annotate(report: Report) -> list[str]:
    """Return the lines that make annotations: what is new first, then one that counts the rest."""
    lines = []
    if verdict_word(report) not in ("PASS", "FAIL"):
        lines.append(_line("error", report.run["status"], verdict_line(report)))
    elif report.run["exit_code"] == 1 and (notes := gating_notes(report)):
        lines.append(_line("error", "the run", "\n".join(notes)))
    findings = sorted(report.findings, key=lambda finding: bool(finding.issue))
    most = ANNOTATIONS - len(lines)
    shown = findings if len(findings) <= most else findings[: most - 1]
    for finding in shown:
        level = "warning" if finding.issue else "error"
        known = f" (known: {finding.issue})" if finding.issue else ""
        title = f"{finding.kind} in {finding.result or 'the call'}, {finding.family}"
        lines.append(_line(level, title, f"{finding.message}{known}\n{finding.repro['command']}"))
    if len(findings) > len(shown):
        more = f"{len(findings) - len(shown)} more findings stand in report.json"
        lines.append(_line("error", "more findings", more))
    return lines


def _line(level: str, title: str, message: str) -> str:
    """Write a workflow command; whatever the texts hold, it is one line and one command."""
    title = _escaped(title[:200]).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{_escaped(message[:_MESSAGE])}"


def _escaped(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    # Other letters at which a terminal or a log breaks a line.
    return "".join(letter if letter.isprintable() else "�" for letter in text)
