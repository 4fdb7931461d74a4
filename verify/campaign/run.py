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
from verify.campaign.pool import Pool
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
    """Seconds a single case may take."""
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


def run_campaign(plan: Plan, progress: Progress) -> Report:
    """Run the plan and return its report; SubjectError when the kernel cannot be loaded.

    Ctrl-C ends the hunt or the shrinking, not the report: status is then `interrupted`, and what was found
    is stored as it was drawn.
    """
    started = datetime.now(UTC)
    clock = time.monotonic()
    gathered = Gathered()
    settings = WorkerSettings(kernel=plan.kernel, device=plan.device, bounds=plan.bounds, threads=1)
    status = "judged"
    with Pool(settings, plan.workers, plan.timeout_s) as pool:
        subject = pool.subject
        folder = plan.out / "findings"
        store = partial(write_findings, gathered.faults, plan.kernel, plan.device, folder, progress)
        try:
            _hunt(plan, pool, gathered, progress)
            findings = store(pool)
        except KeyboardInterrupt:
            status = "interrupted"
            findings = store(None)
    if status == "judged" and not gathered.judged and not gathered.failed_cases:
        status = "nothing judged"
    return _report(plan, subject, gathered, findings, status, started, time.monotonic() - clock)


def numbers(plan: Plan) -> Iterator[int]:
    """Yield the numbers of the plan's cases: a filter leaves cases out, it never renumbers them."""
    wanted = (
        number
        for number in itertools.count()
        if (reached := combination_of(number))[0] in plan.families and reached[1] in plan.dtypes
    )
    if plan.max_cases is not None:
        return itertools.islice(wanted, plan.max_cases)
    last = plan.profile.rounds * COMBINATIONS
    return itertools.takewhile(lambda number: number < last, wanted)


def _hunt(plan: Plan, pool: Pool, gathered: Gathered, progress: Progress) -> None:
    deadline = time.monotonic() + plan.budget_s if plan.budget_s is not None else None
    planned = list(numbers(plan))
    recipes: dict[str, Recipe] = {}

    def jobs() -> Iterator[Job]:
        for number in planned:
            late = deadline is not None and time.monotonic() > deadline
            if late or (plan.stop_at_first and gathered.failed_cases):
                return
            name = f"{plan.seed}/{number}"
            recipes[name] = draw_recipe(plan.seed, number)
            yield Job(name=name, input=recipes[name])

    # Workers finish in any order; the report must not depend on it.
    order = {f"{plan.seed}/{number}": rank for rank, number in enumerate(planned)}
    waiting: dict[int, Outcome] = {}
    following = 0
    for outcome in pool.run(jobs()):
        waiting[order[outcome.case]] = outcome
        while following in waiting:
            ready = waiting.pop(following)
            gathered.add(ready, recipes.pop(ready.case))
            following += 1
            said = f"cases, {gathered.outputs} outputs, {gathered.failed_cases} failing"
            progress(following, len(planned), said)


def _report(
    plan: Plan,
    subject: dict[str, str],
    gathered: Gathered,
    findings: list[Finding],
    status: str,
    started: datetime,
    elapsed_s: float,
) -> Report:
    exit_code = {"judged": int(gathered.failed_cases > 0), "interrupted": 130}.get(status, 5)
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
            "mode": "device" if plan.device == "cuda" else "interpret",
            "status": status,
            "exit_code": exit_code,
            "config": plan.config,
        },
        environment=describe_environment(plan.device),
        subject=subject,
        oracle={
            "certified_fraction": certified / max(gathered.judged, 1),
            "tiers": gathered.tiers,
            "bits": gathered.bits,
        },
        bounds={"path": plan.bounds.file, "sha256": plan.bounds.sha256, "used": bounds},
        totals={
            "cases": gathered.cases,
            "failed_cases": gathered.failed_cases,
            "outputs": gathered.outputs,
            "values": gathered.judged,
            "passed": gathered.judged - gathered.failed,
            "failed": gathered.failed,
            "known": 0,
            "unsupported": {},
            "out_of_domain": {},
            "elapsed_s": round(elapsed_s, 3),
            "outputs_per_s": round(gathered.outputs / elapsed_s, 1) if elapsed_s else 0.0,
        },
        strata=tuple(sorted(gathered.strata.values(), key=lambda stratum: (-stratum.margin, stratum.key))),
        findings=tuple(findings),
        coverage={"cases": dict(sorted(gathered.coverage.items()))},
    )
