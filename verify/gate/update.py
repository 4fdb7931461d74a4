"""`--update-bounds`: what a report measured, written into the file that held it to account."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reports.records import Report
from reports.serialize import write_text
from verify.bounds import FP32_BOUNDS
from verify.cli.config import UsageError
from verify.gate.criteria import complaints
from verify.gate.measured import rewritten
from verify.gate.ratchet import measure, ratchet
from verify.gate.wanted import Complaint, Wanted


def updated(
    report: Report,
    wanted: Wanted,
    found: tuple[Complaint, ...],
    file: Path,
    reason: str | None,
    lines: list[str],
) -> tuple[Wanted, tuple[Complaint, ...], list[str]]:
    """Turn the ratchet and write the file; not where the report fails for what no reason can excuse.

    UsageError where the file is not the kernel's own.
    """
    why = " ".join((reason or "").split())
    if any(complaint.check != "bounds" or not why for complaint in found):
        return wanted, found, [*lines, f"{file.name} is as it was: a report that fails measures nothing"]
    own = report.subject["name"]
    others = {bound.kernel for bound in wanted.measured.values()} - {own}
    if others or file == FP32_BOUNDS:
        said = f"holds what was measured of {', '.join(sorted(others))}" if others else "is for every kernel"
        raise UsageError(f"--update-bounds: {file} {said}; copy it and name the copy for {own} with --bounds")
    after, changes = ratchet(wanted.measured, measure(report), why)
    try:
        text = file.read_text(encoding="utf-8")
        changed = rewritten(text, after)
        if changed != text:
            write_text(file, changed)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be written: {' '.join(str(error).split())}") from None
    lines = [*lines, f"measured bounds in {file}:"]
    for change in changes:
        before = "" if change.before in (None, change.after) else f"{change.before:g} → "
        lines.append(f"  {change.result:<16} {before}{change.after:g}  {change.said}")
    wanted = replace(wanted, measured=after)
    return wanted, complaints(report, wanted), lines
