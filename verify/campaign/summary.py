"""From what a run gathered to its report."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Protocol

from reports.combine import OF_A_SHARD
from reports.records import Finding, Report
from verify.campaign.environment import describe_environment, describe_tool
from verify.campaign.gather import Gathered
from verify.campaign.jobs import Stream
from verify.campaign.plan import Plan
from verify.campaign.schedule import Schedule

BUDGET, FIRST_FAULT, LOST_PROCESSES, INTERRUPT = "budget", "first fault", "lost processes", "interrupt"
"""What may end a run before its last case."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """When a run was made and how it ended."""

    started: datetime
    """When it began."""
    elapsed_s: float
    """Seconds it took."""
    stopped_by: str
    """What ended it before the last case; empty for nothing."""


class Loaded(Protocol):
    """What is known of the kernel where it was loaded."""

    subject: dict[str, Any]
    variables: dict[str, str]


def summarise(
    plan: Plan,
    schedule: Schedule,
    loaded: Loaded,
    gathered: Gathered,
    findings: list[Finding],
    ending: Ending,
) -> Report:
    """Write down what a run found out, and on what."""
    status = "judged" if gathered.values or gathered.failed else "nothing judged"
    status = "interrupted" if ending.stopped_by == INTERRUPT else status
    exit_code = {"judged": int(gathered.failed > 0), "interrupted": 130}.get(status, 5)
    on_device = plan.device == "cuda" and loaded.variables.get("TRITON_INTERPRET", "0") == "0"
    return Report(
        tool=describe_tool(),
        run={
            "id": uuid.uuid4().hex,
            "started": ending.started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "argv": list(plan.argv),
            "profile": plan.profile_name,
            "max_cases": plan.max_cases,
            "seed": plan.seed,
            "families": list(plan.families),
            "dtypes": list(plan.dtypes),
            "laws": list(plan.laws),
            "shard": str(plan.shard),
            "streams": _sorted(gathered.streams),
            "workers": len(plan.devices),
            "mode": "device" if on_device else "interpret",
            "status": status,
            "stopped_by": ending.stopped_by,
            "exit_code": exit_code,
            "config": plan.config,
        },
        environment=describe_environment(plan.devices[0], loaded.variables),
        subject=loaded.subject,
        oracle={
            "certified_fraction": sum(gathered.tiers.values()) / max(gathered.asked, 1),
            "tiers": _sorted(gathered.tiers),
            "bits": gathered.bits,
        },
        bounds={"path": plan.bounds.file, "sha256": plan.bounds.sha256, "used": _numbers(plan)},
        totals=_totals(schedule, gathered, ending.elapsed_s),
        strata=tuple(sorted(gathered.strata.values(), key=lambda stratum: (-stratum.margin, stratum.key))),
        regimes=tuple(gathered.regimes[key] for key in sorted(gathered.regimes)),
        findings=tuple(findings),
        coverage={
            "cases": _sorted(gathered.coverage),
            "cells": {name: gathered.archive.cells[name].visits for name in sorted(gathered.archive.cells)},
            "discovery": [list(point) for point in gathered.discovery.get(Stream.DRAWN, ())],
            "hunt_discovery": [list(point) for point in gathered.discovery.get(Stream.HUNT, ())],
        },
        artifacts=tuple({"path": f.repro["file"], "sha256": f.repro["sha256"]} for f in findings),
        notes=_notes(plan, schedule, gathered, ending),
    )


def _totals(schedule: Schedule, gathered: Gathered, elapsed_s: float) -> dict[str, Any]:
    return {
        "planned": schedule.planned(),
        "cases": gathered.cases,
        "passed": gathered.cases - gathered.failed,
        "failed": gathered.failed,
        "outputs": gathered.outputs,
        "values": gathered.values,
        "values_passed": gathered.values - gathered.values_failed,
        "values_failed": gathered.values_failed,
        "known": 0,
        "unsupported": _sorted(gathered.unsupported),
        "out_of_domain": _sorted(gathered.out_of_domain),
        "laws": {law: dict(gathered.laws[law]) for law in sorted(gathered.laws)},
        "elapsed_s": round(elapsed_s, 3),
        "compile_s": round(gathered.compile_s, 3),
        "outputs_per_s": round(gathered.outputs / elapsed_s, 1) if elapsed_s else 0.0,
    }


def _notes(plan: Plan, schedule: Schedule, gathered: Gathered, ending: Ending) -> tuple[str, ...]:
    notes = list(schedule.complaints)
    if ending.stopped_by:
        notes.append(f"stopped by {ending.stopped_by} before the last case")
    if plan.shard.count > 1:
        notes.append(f"shard {plan.shard}: {OF_A_SHARD}")
    if Stream.HUNT.value in plan.families and not gathered.streams[Stream.HUNT.value]:
        notes.append("nothing was hunted: it starts from what was drawn, and not with a number of cases")
    if gathered.failed and gathered.arithmetic == gathered.failed:
        notes.append(
            "every failing case keeps the bounds of a merge that computes in float32: to judge by those, "
            "run again with --bounds fp32"
        )
    return tuple(notes)


def _numbers(plan: Plan) -> dict[str, Any]:
    numbers = {key: value for key, value in asdict(plan.bounds).items() if key not in ("file", "sha256")}
    return {key: value.value if isinstance(value, Enum) else value for key, value in numbers.items()}


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
