"""One run: draw cases, send them through the pool, gather what came back, write the report."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fuzz.draw import COMBINATIONS, combination_of, draw_recipe
from fuzz.recipe import Recipe
from reports.records import Finding, Report
from verify.bounds import Bounds
from verify.campaign.environment import describe_environment, describe_tool
from verify.campaign.findings import write_findings
from verify.campaign.gather import Gathered
from verify.campaign.interrupts import ignore_interrupts, one_interrupt
from verify.campaign.pool import Pool, WorkersLostError
from verify.campaign.profiles import Profile
from verify.campaign.progress import Progress
from verify.campaign.trial import Outcome
from verify.campaign.worker import Job, WorkerSettings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides what a run does."""

    kernel: str
    """As `--kernel` names it."""
    profile_name: str
    """Key of PROFILES."""
    profile: Profile
    """Size of the run."""
    budget_s: float | None
    """Seconds after which no new case is started."""
    max_cases: int | None
    """Number of cases, instead of the profile's rounds."""
    seed: int
    """Of the drawn cases."""
    families: tuple[str, ...]
    """Families to draw."""
    dtypes: tuple[str, ...]
    """Output dtypes to draw."""
    device: str
    """`cpu` or `cuda`."""
    workers: int
    """Processes."""
    timeout_s: float
    """Seconds a single call of the kernel may take."""
    stop_at_first: bool
    """Stop at the first fault."""
    out: Path
    """Folder for the findings' cases."""
    bounds: Bounds
    """What to judge by."""
    argv: tuple[str, ...]
    """The command line, for the report."""
    config: dict[str, Any]
    """Every option with its source, for the report."""


MOST_LOST = 8
"""Lost processes that end the hunt: each costs seconds, a hang minutes, and more of them tell no more."""

BUDGET, FIRST_FAULT, LOST_PROCESSES, INTERRUPT = "budget", "first fault", "lost processes", "interrupt"


def run_campaign(plan: Plan, progress: Progress) -> Report:
    """Run the plan and return its report; SubjectError when the kernel cannot be loaded.

    Ctrl-C ends the hunt or the shrinking, not the report: status is then `interrupted`. Then, and after too
    many lost processes, what was found is stored as it was drawn: to shrink it could cost as many again.
    """
    started = datetime.now(UTC)
    clock = time.monotonic()
    gathered = Gathered()
    settings = WorkerSettings(kernel=plan.kernel, device=plan.device, bounds=plan.bounds, threads=1)
    with one_interrupt():
        with Pool(settings, plan.workers, plan.timeout_s) as pool:
            folder = plan.out / "findings"
            store = partial(write_findings, gathered.faults, plan.kernel, plan.device, folder, progress)
            try:
                stopped_by = _hunt(plan, pool, gathered, progress)
                findings = store(None if stopped_by == LOST_PROCESSES else pool)
            except (KeyboardInterrupt, WorkersLostError) as error:
                ignore_interrupts()
                stopped_by = INTERRUPT if isinstance(error, KeyboardInterrupt) else LOST_PROCESSES
                findings = store(None)
            ignore_interrupts()  # from here on the report is only written
        elapsed_s = time.monotonic() - clock
        return _report(plan, pool, gathered, findings, stopped_by, started, elapsed_s)


def numbers(plan: Plan) -> Iterator[int]:
    """Yield the numbers of the plan's cases: a filter leaves cases out, it never renumbers them."""
    wanted = (number for number in itertools.count() if _is_wanted(plan, number))
    if plan.max_cases is not None:
        return itertools.islice(wanted, plan.max_cases)
    last = plan.profile.rounds * COMBINATIONS
    return itertools.takewhile(lambda number: number < last, wanted)


def planned(plan: Plan) -> int:
    """Return how many numbers there are, without listing them."""
    if plan.max_cases is not None:
        return plan.max_cases
    return plan.profile.rounds * sum(_is_wanted(plan, number) for number in range(COMBINATIONS))


def _is_wanted(plan: Plan, number: int) -> bool:
    family, dtype = combination_of(number)
    return family in plan.families and dtype in plan.dtypes


def _hunt(plan: Plan, pool: Pool, gathered: Gathered, progress: Progress) -> str:
    """Run the planned cases; return what ended that before the last one, empty for nothing."""
    deadline = time.monotonic() + plan.budget_s if plan.budget_s is not None else None
    total = planned(plan)
    under_way: dict[str, tuple[int, Recipe]] = {}
    failing = lost = 0
    stopped_by = ""

    def reason() -> str:
        if lost >= MOST_LOST:
            return LOST_PROCESSES
        if plan.stop_at_first and failing:
            return FIRST_FAULT
        return BUDGET if deadline is not None and time.monotonic() > deadline else ""

    def jobs() -> Iterator[Job]:
        nonlocal stopped_by
        for rank, number in enumerate(numbers(plan)):
            stopped_by = reason()
            if stopped_by:
                return
            name, recipe = f"{plan.seed}/{number}", draw_recipe(plan.seed, number)
            under_way[name] = rank, recipe
            yield Job(name=name, input=recipe)

    # Workers finish in any order; the report must not depend on it.
    waiting: dict[int, tuple[Outcome, Recipe]] = {}
    following = 0
    try:
        for outcome in pool.run(jobs()):
            failing += bool(outcome.faults)
            lost += outcome.lost_process
            rank, recipe = under_way.pop(outcome.case)
            waiting[rank] = outcome, recipe
            while following in waiting:
                gathered.add(*waiting.pop(following))
                following += 1
                said = f"cases, {gathered.outputs} outputs, {gathered.failed} failing"
                progress(following, total, said)
    finally:
        # What came back counts, even where an earlier case never will.
        for rank in sorted(waiting):
            gathered.add(*waiting[rank])
    return stopped_by


def _report(
    plan: Plan,
    pool: Pool,
    gathered: Gathered,
    findings: list[Finding],
    stopped_by: str,
    started: datetime,
    elapsed_s: float,
) -> Report:
    status = "judged" if gathered.values or gathered.failed else "nothing judged"
    status = "interrupted" if stopped_by == INTERRUPT else status
    exit_code = {"judged": int(gathered.failed > 0), "interrupted": 130}.get(status, 5)
    on_device = plan.device == "cuda" and pool.variables.get("TRITON_INTERPRET", "0") == "0"
    bounds = {key: value for key, value in asdict(plan.bounds).items() if key not in ("file", "sha256")}
    certified = sum(gathered.tiers.values())
    return Report(
        tool=describe_tool(),
        run={
            "id": uuid.uuid4().hex,
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "argv": list(plan.argv),
            "profile": plan.profile_name,
            "seed": plan.seed,
            "workers": plan.workers,
            "mode": "device" if on_device else "interpret",
            "status": status,
            "stopped_by": stopped_by,
            "exit_code": exit_code,
            "config": plan.config,
        },
        environment=describe_environment(plan.device, pool.variables),
        subject=pool.subject,
        oracle={
            "certified_fraction": certified / max(gathered.values, 1),
            "tiers": gathered.tiers,
            "bits": gathered.bits,
        },
        bounds={"path": plan.bounds.file, "sha256": plan.bounds.sha256, "used": bounds},
        totals={
            "planned": planned(plan),
            "cases": gathered.cases,
            "passed": gathered.cases - gathered.failed,
            "failed": gathered.failed,
            "outputs": gathered.outputs,
            "values": gathered.values,
            "values_passed": gathered.values - gathered.values_failed,
            "values_failed": gathered.values_failed,
            "known": 0,
            "unsupported": {},
            "out_of_domain": {},
            "elapsed_s": round(elapsed_s, 3),
            "outputs_per_s": round(gathered.outputs / elapsed_s, 1) if elapsed_s else 0.0,
        },
        strata=tuple(sorted(gathered.strata.values(), key=lambda stratum: (-stratum.margin, stratum.key))),
        findings=tuple(findings),
        coverage={"cases": dict(sorted(gathered.coverage.items()))},
        artifacts=tuple({"path": f.repro["file"], "sha256": f.repro["sha256"]} for f in findings),
    )
