"""What changed between two reports, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.markdown import table, verdict_line
from reports.movers import Mover, differences
from reports.records import Report
from verify.gate.wanted import Complaint

_ROWS = 40


def findings(before: Report, after: Report) -> tuple[list[str], list[str]]:
    """Return the ids of the findings that only B has, and those that only A has."""
    old, new = ({finding.id for finding in report.findings} for report in (before, after))
    return sorted(new - old), sorted(old - new)


def page(
    before: Report, after: Report, moved: Sequence[Mover], worse: Sequence[Complaint], names: Sequence[str]
) -> Iterator[str]:
    """Yield the page in parts: both verdicts, what is worse, findings that came or went, what moved."""
    yield f"# {names[0]} → {names[1]}\n"
    yield table(
        ("", "kernel", "source", "verdict"),
        [
            (letter, one.subject["import_path"], one.subject["source_sha256"][:12], verdict_line(one))
            for letter, one in zip("AB", (before, after), strict=True)
        ],
    )
    for note in differences(before, after):
        yield f"\n> note: {note}"
    yield f"\n## Worse ({len(worse)})\n" if worse else "\nNo stratum is worse."
    for complaint in worse[:_ROWS]:
        yield f"- {complaint.said}" + (f"\n  `{complaint.replay}`" if complaint.replay else "")
    new, gone = findings(before, after)
    for title, ids in (("New findings", new), ("Findings that are gone", gone)):
        if ids:
            yield f"\n## {title} ({len(ids)})\n"
            yield from (f"- {name}" for name in ids[:_ROWS])
    changed = [mover for mover in moved if mover.moved]
    yield f"\n## Changed: {len(changed)} of {len(moved)} strata\n"
    if changed:
        rows = [_row(mover) for mover in changed[:_ROWS]]
        yield table(("stratum", "judged ulp", "margin", "failed values"), rows)
    if len(changed) > _ROWS:
        yield f"\n… and {len(changed) - _ROWS} more."


def _row(mover: Mover) -> tuple[str, ...]:
    return (
        " ".join(mover.key),
        _change(mover.before_judged_ulp, mover.after_judged_ulp),
        _change(mover.before_margin, mover.after_margin),
        f"{mover.failed_change:+d}",
    )


def _change(before: float | None, after: float | None) -> str:
    return " → ".join("none" if value is None else f"{value:.6g}" for value in (before, after))
