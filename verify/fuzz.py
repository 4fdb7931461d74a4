"""`python -m verify.fuzz`: hunt for faults in a merge kernel, judge every value, write the report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from reports.markdown import finding_lines, to_markdown, verdict_line
from reports.records import Report
from reports.serialize import to_json, write_text
from verify.bounds import load_bounds
from verify.campaign.interrupts import no_interrupt
from verify.campaign.profiles import PROFILES
from verify.campaign.progress import progress_shown
from verify.campaign.run import Plan, run_campaign
from verify.config import Settings, UsageError
from verify.exits import guarded, say
from verify.options import (
    BUDGET,
    DEVICE,
    DTYPE,
    EXITFIRST,
    FAMILY,
    JSON,
    KERNEL,
    LIST,
    MAX_CASES,
    OUT,
    PROFILE,
    QUIET,
    SEED,
    TIMEOUT,
    VERBOSE,
    WORKERS,
    device_of,
    settings_of,
    workers_of,
)

OPTIONS = (
    KERNEL,
    PROFILE,
    BUDGET,
    MAX_CASES,
    SEED,
    FAMILY,
    DTYPE,
    DEVICE,
    WORKERS,
    TIMEOUT,
    OUT,
    JSON,
    EXITFIRST,
    LIST,
    QUIET,
    VERBOSE,
)
_WRITTEN = ("report.json", "summary.md")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("fuzz", __doc__ or "", OPTIONS, argv)
    if settings["list"]:
        _print_list()
        return 0
    plan = _plan(settings, tuple(sys.argv[1:] if argv is None else argv))
    _prepare(settings)
    with progress_shown(quiet=settings["quiet"]) as progress:
        report = run_campaign(plan, progress)
    with no_interrupt():
        return _write(report, settings, plan.out)


def _plan(settings: Settings, argv: tuple[str, ...]) -> Plan:
    device = device_of(settings)
    profile = PROFILES[settings["profile"]]
    return Plan(
        kernel=settings["kernel"],
        profile_name=settings["profile"],
        profile=profile,
        # A number of cases that was asked for is not cut short by a time that was not.
        budget_s=settings["budget"] or (None if settings["max-cases"] else profile.budget_s),
        max_cases=settings["max-cases"],
        seed=settings["seed"],
        families=settings["family"],
        dtypes=settings["dtype"],
        device=device,
        workers=workers_of(settings, device),
        timeout_s=settings["timeout"],
        stop_at_first=settings["exitfirst"],
        out=settings["out"],
        bounds=load_bounds(),
        argv=argv,
        config=settings.record(),
    )


def _prepare(settings: Settings) -> None:
    """Fail before hours of work, not after, and leave no earlier verdict that could be taken for this one."""
    out = settings["out"]
    _check_writable(out, "--out")
    for name in _WRITTEN:
        try:
            (out / name).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"--out {out}: {name} cannot be replaced ({error.strerror})") from None
    if settings["json"] not in (None, "-"):
        target = Path(settings["json"])
        if target.is_dir() or not target.name:
            raise UsageError(f"--json {settings['json']!r}: wanted the name of a file, or -")
        _check_writable(target.parent, "--json")


def _check_writable(folder: Path, flag: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"{flag} {folder}: cannot write there ({error.strerror}); name another folder"
        ) from None


def _print_list() -> None:
    for name, family in FAMILIES.items():
        say(f"{name:<16} {family.domain.value:<9} {family.promise}")
    say("dtypes: " + ", ".join(FORMATS))


def _write(report: Report, settings: Settings, out: Path) -> int:
    text = to_json(report)
    write_text(out / "report.json", text)
    write_text(out / "summary.md", to_markdown(report))
    exit_code = int(report.run["exit_code"])
    if settings["json"] == "-":
        say(text.rstrip())
        print(verdict_line(report), file=sys.stderr)
        return exit_code
    if settings["json"]:
        write_text(Path(settings["json"]), text)
    if not settings["quiet"]:
        for finding in report.findings:
            say(f"\n{finding.kind} ({finding.similar} cases): {finding.message}")
            say("\n".join("  " + line for line in finding_lines(finding)))
        if settings["verbose"]:
            say("\n" + to_markdown(report))
        say(f"\nreport: {out / 'report.json'} and {out / 'summary.md'}")
    say(verdict_line(report))
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
