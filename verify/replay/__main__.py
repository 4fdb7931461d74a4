"""`python -m verify.replay CASE`: run one case again and show what was right, what came, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fuzz.case import MergeCase
from fuzz.recipe import Recipe, expand
from verify.campaign.inline import Inline
from verify.campaign.jobs import Job, seed_of
from verify.campaign.outcome import Outcome
from verify.campaign.pool import Pool
from verify.campaign.profiles import PROFILES
from verify.campaign.progress import progress_shown
from verify.campaign.station import StationSettings
from verify.cli.config import Settings, UsageError
from verify.cli.exits import CLEAN, FOUND, NOTHING_JUDGED, guarded, say
from verify.cli.options import BOUNDS, CONVENTION, DEVICE, ISOLATE, KERNEL, LAW, LAW_SEED, OUT, TIMEOUT
from verify.cli.settings import bounds_of, device_of, settings_of
from verify.cli.special import AT, SHRINK, TO_TEST
from verify.replay.account import account_of_case, account_of_fault, account_of_result, account_of_value
from verify.replay.once import Where, asking, nearest, reduced, returned_at
from verify.replay.source import case_named
from verify.replay.storing import replay_command, store
from verify.replay.to_test import as_test
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import recast

OPTIONS = (
    KERNEL,
    CONVENTION,
    BOUNDS,
    AT,
    LAW,
    LAW_SEED,
    SHRINK,
    TO_TEST,
    DEVICE,
    ISOLATE,
    TIMEOUT,
    OUT,
)


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What is shown: the case as it was named, or the least that shows its first fault."""

    case: MergeCase
    """As the kernel's convention can say it."""
    job: Job
    """What runs it again."""
    outcome: Outcome
    """What it showed."""
    said: tuple[str, ...] = ()
    """What became of shrinking, line by line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when the case passes, 1 when it fails."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    settings = settings_of("replay", __doc__ or "", OPTIONS, argv, positional="case")
    name, kernel = settings["case"], settings["kernel"]
    convention = CONVENTIONS[settings["convention"]]
    source = case_named(name, settings["out"])
    case = recast(expand(source) if isinstance(source, Recipe) else source, convention)
    at = _place_in(case, settings["at"])
    if at is not None and settings["shrink"]:
        raise UsageError("--at and --shrink: a smaller case has other places; leave out one of them")
    seed = seed_of(name) if settings["law-seed"] is None else settings["law-seed"]
    job = Job(name=name, input=source, laws=settings["laws"], seed=seed)
    station = StationSettings(
        kernel=kernel,
        device=device_of(settings),
        bounds=bounds_of(settings),
        cores=1,
        convention=convention.name,
    )
    with _opened(station, settings) as pool:
        shown = _Shown(case=case, job=job, outcome=pool.run_one(job))
        if settings["shrink"]:
            shown = _shrunk(pool, shown, settings)
    if settings["to-test"]:
        print(_test(shown, settings), end="", flush=True)
    else:
        for lines in _lines(shown, at, station, settings):
            say("\n".join(lines))
    outcome = shown.outcome
    verdict = "FAIL" if outcome.faults else "UNSUPPORTED" if outcome.unsupported else "PASS"
    laws = sum(rows > 0 for rows in outcome.laws.values())
    line = f"{verdict} {kernel} case {name} outputs {outcome.outputs} laws {laws}"
    if settings["to-test"]:
        print(line, file=sys.stderr)
    else:
        say(line)
    return {"FAIL": FOUND, "PASS": CLEAN, "UNSUPPORTED": NOTHING_JUDGED}[verdict]


def _lines(
    shown: _Shown, at: Where | None, station: StationSettings, settings: Settings
) -> Iterator[list[str]]:
    case, outcome = shown.case, shown.outcome
    convention = CONVENTIONS[station.convention]
    yield account_of_case(case)
    for fault in outcome.faults:
        yield account_of_fault(case, fault, convention)
    told = ""
    if at is None and not outcome.faults and (worst := nearest(outcome)) is not None:
        at, stratum = worst
        told = f"the {stratum.key.result} nearest to its bound: |error| / bound = {stratum.margin:.6g}"
    if at is not None:
        with _opened(replace(station, bounds=asking(at)), settings) as pool:
            got = returned_at(pool, shown.job, at)
        yield ["", *([told] if told else [])]
        names = ", ".join(f"{name} {i}" for name, i in zip(("token", "head", "column"), at, strict=False))
        yield [f"at    {names}"] if got is None else account_of_result(case, got)
        yield account_of_value(case, *at, convention=convention)
    if outcome.unsupported:
        yield ["", f"the kernel was not called: {outcome.unsupported}"]
    if shown.said:
        yield ["", *shown.said]


def _shrunk(pool: Pool | Inline, shown: _Shown, settings: Settings) -> _Shown:
    """Return the least that shows the first fault, stored in a file; the same where there is none to show."""
    if not shown.outcome.faults:
        return replace(shown, said=("there is no fault to keep while shrinking",))
    fault = shown.outcome.faults[0]
    with progress_shown(quiet=False) as progress:
        found = reduced(pool, shown.job, shown.case, fault, progress)
    if found is None:
        return replace(shown, said=("the fault did not show again when the case was repeated",))
    laws = tuple(law for law in shown.job.laws if found.fault.detector == f"law {law}")
    job = replace(shown.job, input=found.case, laws=laws)
    file = store(found.case, found.fault, settings["out"] / "shrunk")
    told = (f"shrunk in {found.attempts} attempts to {file}", f"replay {_command(file, job, settings)}")
    outcome = replace(
        shown.outcome, faults=(found.fault,), outputs=found.case.outputs, laws=dict.fromkeys(laws, 1)
    )
    return _Shown(case=found.case, job=job, outcome=outcome, said=told)


def _command(file: Path, job: Job, settings: Settings) -> str:
    return replay_command(
        file,
        settings["kernel"],
        laws=job.laws,
        law_seed=job.seed,
        bounds=settings["bounds"],
        device=settings["device"] or "cpu",
        convention=settings["convention"],
    )


def _test(shown: _Shown, settings: Settings) -> str:
    fault = next(iter(shown.outcome.faults), None)
    laws = shown.job.laws
    if fault is not None:  # one law is enough, and where the values are wrong, none
        laws = tuple(law for law in laws if fault.detector == f"law {law}")
    options: dict[str, object] = {"laws": laws, "law_seed": shown.job.seed} if laws else {}
    usual = {"bounds": BOUNDS.default, "convention": CONVENTION.default}
    options |= {name: settings[name] for name, default in usual.items() if settings[name] != default}
    file = store(shown.case, fault, settings["out"] / "tests")
    return as_test(shown.case, fault, file=file, kernel=settings["kernel"], options=options)


@contextmanager
def _opened(station: StationSettings, settings: Settings) -> Iterator[Pool | Inline]:
    isolated = settings["isolate"] == "on"
    timeout_s = settings["timeout"] or PROFILES["quick"].timeout_s
    with Pool([station], timeout_s) if isolated else Inline(station) as kernel:
        yield kernel


def _place_in(case: MergeCase, at: tuple[int, ...] | None) -> tuple[int, ...] | None:
    shape = (case.T, case.H, case.R)
    if at is not None and any(index >= size for index, size in zip(at, shape, strict=False)):
        raise UsageError(f"--at {at}: the case has T={case.T}, H={case.H}, R={case.R}")
    return at


if __name__ == "__main__":
    sys.exit(main())
