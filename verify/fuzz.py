"""`python -m verify.fuzz`: hunt for faults in a merge kernel, judge every value, write the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.families import DRAWN, FAMILIES
from fuzz.formats import FORMATS
from reports.markdown import finding_lines, to_markdown, verdict_line
from reports.records import Report
from reports.render import publish
from reports.serialize import to_json, write_text
from verify.campaign.interrupts import no_interrupt
from verify.campaign.journal import NAME as JOURNAL
from verify.campaign.journal import JournalError, read_header
from verify.campaign.plan import Plan, Shard
from verify.campaign.profiles import PROFILES
from verify.campaign.progress import progress_shown
from verify.campaign.run import run_campaign
from verify.campaign.schedule import CORPUS, HUNT
from verify.cli.config import Settings, UsageError
from verify.cli.exits import guarded, say
from verify.cli.launched import shard_of_launch
from verify.cli.options import (
    BOUNDS,
    BUDGET,
    CONVENTION,
    DEVICE,
    DTYPE,
    EXITFIRST,
    FAMILY,
    GITHUB,
    HTML,
    ISOLATE,
    JSON,
    JUNIT,
    KERNEL,
    LAW,
    LIST,
    MAX_CASES,
    OUT,
    PROFILE,
    QUIET,
    RESUME,
    SEED,
    SHARD,
    TIMEOUT,
    VERBOSE,
    WORKERS,
)
from verify.cli.settings import bounds_of, device_of, devices_of, settings_of
from verify.cli.targets import check_targets, check_writable
from verify.laws import LAWS

OPTIONS = (
    KERNEL,
    CONVENTION,
    BOUNDS,
    PROFILE,
    BUDGET,
    MAX_CASES,
    LAW,
    SEED,
    FAMILY,
    DTYPE,
    DEVICE,
    SHARD,
    WORKERS,
    ISOLATE,
    TIMEOUT,
    OUT,
    JSON,
    JUNIT,
    HTML,
    GITHUB,
    RESUME,
    EXITFIRST,
    LIST,
    QUIET,
    VERBOSE,
)
_WRITTEN = ("report.json", "summary.md")
_FILES = ("json", "junit", "html")
# What may be said anew when a run goes on: how it is made and shown, not what is judged.
_ANEW = (
    *_FILES,
    *("budget", "workers", "isolate", "timeout", "out", "github", "resume", "exitfirst", "quiet", "verbose"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    given = tuple(sys.argv[1:] if argv is None else argv)
    settings = settings_of("fuzz", __doc__ or "", OPTIONS, given)
    if settings["list"]:
        _print_list()
        return 0
    try:
        if settings["resume"] is not None:
            settings = _resumed(_begun_in(settings["resume"]), given)
        plan = _plan(settings, given)
        _prepare(settings, plan.out)
        with progress_shown(quiet=settings["quiet"]) as progress:
            report = run_campaign(plan, progress)
    except JournalError as error:
        raise UsageError(str(error)) from None
    with no_interrupt():
        return _write(report, settings, plan.out)


def _begun_in(folder: Path) -> Path:
    """Return where the run has its journal: there, or below if a launcher made it one of several."""
    launched = shard_of_launch()
    if launched is None or (folder / JOURNAL).exists():
        return folder
    return _of_shard(folder, launched[0])


def _of_shard(folder: Path, shard: Shard) -> Path:
    return folder if shard.count == 1 else folder / f"shard-{shard.index}-of-{shard.count}"


def _resumed(folder: Path, given: tuple[str, ...]) -> Settings:
    """Return the settings of the run in a folder, with what was said anew on the command line."""
    if any(word == "--out" or word.startswith("--out=") for word in given):
        raise UsageError("--out and --resume: a run goes on where it began; leave out one of them")
    arguments = read_header(folder / JOURNAL).get("arguments")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise UsageError(f"--resume {folder}: the journal does not say how the run was called")
    return settings_of("fuzz", __doc__ or "", OPTIONS, (*arguments, *given))


def _out(settings: Settings) -> Path:
    """Return the folder of the run; shards with one --out have one each below it."""
    if settings["resume"] is not None:
        return _begun_in(settings["resume"])
    return _of_shard(Path(settings["out"]), settings["shard"])


def _plan(settings: Settings, argv: tuple[str, ...]) -> Plan:
    device = device_of(settings)
    profile = PROFILES[settings["profile"]]
    isolated = settings["isolate"] == "on"
    devices = devices_of(settings, device)
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
        laws=settings["laws"],
        shard=settings["shard"],
        device=device,
        devices=devices if isolated else devices[:1],
        isolated=isolated,
        timeout_s=settings["timeout"] or profile.timeout_s,
        stop_at_first=settings["exitfirst"],
        out=_out(settings),
        resume=settings["resume"] is not None,
        bounds=bounds_of(settings),
        convention=settings["convention"],
        argv=argv,
        arguments=settings.arguments(leaving_out=_ANEW),
        config=settings.record(),
    )


def _prepare(settings: Settings, out: Path) -> None:
    """Fail before hours of work, not after, and leave no earlier verdict that could be taken for this one."""
    check_writable(out, "--out")
    for name in _WRITTEN:
        try:
            (out / name).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"--out {out}: {name} cannot be replaced ({error.strerror})") from None
    check_targets(settings, _FILES)


def _print_list() -> None:
    for name, family in DRAWN.items():
        say(f"{name:<16} {family.domain.value:<9} {family.promise}")
    say(f"{CORPUS:<16} any       The cases of fuzz/corpus, kept from earlier findings.")
    say(f"{HUNT:<16} stress    {FAMILIES['mutants'].promise}")
    for name, law in LAWS.items():
        say(f"{name:<16} law       {law.promise}")
    say("dtypes: " + ", ".join(FORMATS))


def _write(report: Report, settings: Settings, out: Path) -> int:
    text = to_json(report)
    write_text(out / "report.json", text)
    write_text(out / "summary.md", to_markdown(report))
    exit_code = int(report.run["exit_code"])
    asked = {name: settings[name] for name in ("html", "junit")}
    for line in publish(report, **asked, to_github=settings["github"], environment=os.environ):
        print(line, file=sys.stderr)
    if settings["json"] == "-":
        say(text.rstrip())
        print(verdict_line(report), file=sys.stderr)
        return exit_code
    if settings["json"]:
        write_text(Path(settings["json"]), text)
    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)
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
