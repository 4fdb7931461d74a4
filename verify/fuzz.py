"""`python -m verify.fuzz`: hunt for faults in a merge kernel, judge every value, write the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from reports.markdown import finding_lines, to_markdown, verdict_line
from reports.records import Report
from reports.serialize import to_json, write_text
from verify.bounds import load_bounds
from verify.campaign.profiles import PROFILES
from verify.campaign.progress import progress_shown
from verify.campaign.run import Plan, run_campaign
from verify.config import Option, Settings, UsageError, one_of, read_settings, seconds, some_of, switch, whole
from verify.exits import guarded, say
from verify.subjects.load import NAMED

OPTIONS = (
    Option(
        name="kernel",
        parse=str,
        default="mla_merge",
        metavar="KERNEL",
        help=f"kernel under test: {', '.join(NAMED)}, pkg.mod:function or path/file.py:function",
    ),
    Option(
        name="profile",
        parse=one_of(tuple(PROFILES)),
        default="quick",
        help="size of the run: " + "; ".join(f"{name} ({p.purpose})" for name, p in PROFILES.items()),
    ),
    Option(
        name="budget", parse=seconds, default=None, help="time after which no new case starts: 60s, 5m, 2h"
    ),
    Option(name="max-cases", parse=whole(1), default=None, metavar="N", help="number of cases"),
    Option(
        name="seed", parse=whole(0), default=0, metavar="N", help="case n is a pure function of (seed, n)"
    ),
    Option(
        name="family",
        parse=some_of(tuple(FAMILIES)),
        default=tuple(FAMILIES),
        metavar="A,B",
        help="families of inputs to draw; --list names them",
    ),
    Option(
        name="dtype",
        parse=some_of(tuple(FORMATS)),
        default=tuple(FORMATS),
        metavar="A,B",
        help="output dtypes to ask for",
    ),
    Option(
        name="device",
        parse=one_of(("cpu", "cuda")),
        default=None,
        help="cpu runs Triton kernels in the interpreter; default: cuda where there is one",
    ),
    Option(
        name="workers", parse=str, default="auto", metavar="N", help="processes; auto: one per core or GPU"
    ),
    Option(
        name="timeout",
        parse=seconds,
        default=120.0,
        metavar="S",
        help="time one case may take before it is a hang",
    ),
    Option(name="out", parse=Path, default=Path("out"), metavar="DIR", help="folder for the report"),
    Option(
        name="json", parse=str, default=None, metavar="PATH", help="write report.json here too; - for stdout"
    ),
    Option(name="exitfirst", parse=switch, default=False, short="x", help="stop at the first fault"),
    Option(name="list", parse=switch, default=False, help="list families and dtypes and stop"),
    Option(name="quiet", parse=switch, default=False, short="q", help="print the verdict alone"),
    Option(name="verbose", parse=switch, default=False, short="v", help="print the table of strata too"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = read_settings("verify.fuzz", __doc__ or "", OPTIONS, argv)
    if settings["list"]:
        _print_list()
        return 0
    plan = _plan(settings, tuple(sys.argv[1:] if argv is None else argv))
    _check_writable(plan.out)
    with progress_shown(quiet=settings["quiet"]) as progress:
        report = run_campaign(plan, progress)
    return _write(report, settings, plan.out)


def _plan(settings: Settings, argv: tuple[str, ...]) -> Plan:
    has_gpu = torch.cuda.is_available()
    device = settings["device"] or ("cuda" if has_gpu else "cpu")
    if device == "cuda" and not has_gpu:
        raise UsageError(
            "--device cuda: torch sees no GPU here; leave it out to use the interpreter on the CPU"
        )
    profile = PROFILES[settings["profile"]]
    return Plan(
        kernel=settings["kernel"],
        profile_name=settings["profile"],
        profile=profile,
        budget_s=settings["budget"] or profile.budget_s,
        max_cases=settings["max-cases"],
        seed=settings["seed"],
        families=settings["family"],
        dtypes=settings["dtype"],
        device=device,
        workers=_workers(settings["workers"], device),
        timeout_s=settings["timeout"],
        stop_at_first=settings["exitfirst"],
        out=settings["out"],
        bounds=load_bounds(),
        argv=argv,
        config=settings.record(),
    )


def _workers(text: str, device: str) -> int:
    if text == "auto":
        return 1 if device == "cuda" else len(os.sched_getaffinity(0))
    try:
        return whole(1)(text)
    except ValueError as error:
        raise UsageError(f"--workers: {error}, nor auto") from None


def _check_writable(folder: Path) -> None:
    """Fail before hours of work, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"--out {folder}: cannot write there ({error.strerror}); name another folder"
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
