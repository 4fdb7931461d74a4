"""A run made up case by case, reported as a campaign does: what combining shards is held against."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from reports.records import Finding, Report
from reports.regimes import CONDITIONING_EDGES, Regime, RegimeKey
from reports.strata import EDGES, Stratum, StratumKey
from reports.tests import examples

FAMILIES = ("ties", "empties", "producer")
DTYPES = ("float32", "float16")
KINDS = ("WRONG_VALUE/output/", "SPURIOUS_NAN/output/", "CRASH//ValueError")


@dataclass(kw_only=True)
class Case:
    """What one case shows, a pure function of seed and number."""

    number: int
    name: str
    family: str
    dtype: str
    unsupported: str = ""
    strata: list[Stratum] = field(default_factory=list)
    regimes: list[Regime] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def case(seed: int, number: int, faulty: float = 0.2) -> Case:
    drawn = random.Random(f"{seed}/{number}")
    made = Case(
        number=number,
        name=f"{seed}/{number}",
        family=drawn.choice(FAMILIES),
        dtype=drawn.choice(DTYPES),
    )
    if drawn.random() < 0.1:
        made.unsupported = drawn.choice(("S outside pow2", "dtype float16"))
        return made
    for result in ("output", "lse"):
        errors = [drawn.uniform(-0.5, 0.5) for _ in range(drawn.randrange(4))]
        size = [abs(error) for error in errors]
        counts = [0] * (len(EDGES) - 1)
        for error in size:
            counts[max(i for i, edge in enumerate(EDGES) if edge <= error)] += 1
        plain = Stratum(key=StratumKey(made.family, "stress", made.dtype, result), cases=1, outputs=4)
        if errors:
            plain = replace(
                plain,
                numbers=len(errors),
                misrounded=drawn.randrange(2),
                max_ulp=max(size),
                judged_ulp=max(size) / 2,
                margin=round(max(size), 1),  # so coarse that many tie
                bound=drawn.uniform(0.501, 1),
                witness=f"{made.name} at [0, {drawn.randrange(20)}]",
                sum_units=sum(Stratum.in_units(error) for error in errors),
                counts=tuple(counts),
            )
        made.strata.append(plain)
        made.regimes += [_regime(made, result, error, drawn) for error in size]
    made.faults = [kind for kind in KINDS if drawn.random() < faulty]
    return made


def _regime(made: Case, result: str, error: float, drawn: random.Random) -> Regime:
    dtype = made.dtype if result == "output" else "float32"
    key = RegimeKey(dtype, result, drawn.choice((1, 2)), drawn.choice(CONDITIONING_EDGES[:2]))
    measured = {"max_ulp": error, "judged_ulp": error / 2, "margin": error, "bound": 1.0}
    return Regime(key=key, numbers=1, misrounded=drawn.randrange(2), **measured)


def reported(cases: list[Case], *, seed: int, shard: str = "0/1", **run) -> Report:
    """Gather cases in their order and report them."""
    supported = [one for one in cases if not one.unsupported]
    strata: dict[StratumKey, Stratum] = {}
    regimes: dict[RegimeKey, Regime] = {}
    groups: dict[str, dict[str, Any]] = {}
    curve: list[list[float]] = []
    for one in supported:
        for measured in one.strata:
            known = strata.get(measured.key)
            strata[measured.key] = measured if known is None else known.merged(measured)
        for regime in one.regimes:
            before = regimes.get(regime.key)
            regimes[regime.key] = regime if before is None else before.merged(regime)
        for kind in one.faults:
            name = f"{kind}/{one.family}"
            first = {"group": name, "first": one.number, "cases": 0, "case": one.name}
            groups.setdefault(name, first)["cases"] += 1
        margin = max((measured.margin for measured in one.strata), default=0.0)
        if not curve or margin > curve[-1][1]:
            curve.append([one.number, margin])
    failed = sum(bool(one.faults) for one in supported)
    values = sum(measured.outputs for measured in strata.values())
    status = "judged" if values else "nothing judged"
    plain = examples.report()
    return replace(
        plain,
        run={
            **plain.run,
            "id": hashlib.sha256(shard.encode()).hexdigest()[:32],
            "argv": ["--shard", shard],
            "seed": seed,
            "shard": shard,
            "streams": {"drawn": len(supported)} if supported else {},
            "status": status,
            "exit_code": int(failed > 0) if values else 5,
            "config": {**plain.run["config"], "shard": {"value": shard, "source": "--shard"}},
            **run,
        },
        oracle={
            "certified_fraction": 1.0 if values else 0.0,
            "tiers": {"exact": values} if values else {},
            "bits": max((one.number for one in supported), default=0),
        },
        totals={
            "planned": len(cases),
            "cases": len(supported),
            "passed": len(supported) - failed,
            "failed": failed,
            "outputs": 4 * len(supported),
            "values": values,
            "values_passed": values,
            "values_failed": 0,
            "known": 0,
            "unsupported": dict(Counter(one.unsupported for one in cases if one.unsupported)),
            "out_of_domain": {},
            "laws": {"tail": {"cases": len(supported), "rows": 3 * len(supported)}} if supported else {},
            "elapsed_s": 2.0,
            "compile_s": round(0.1 * len(cases), 3),
            "outputs_per_s": 2.0 * len(supported),
        },
        strata=tuple(sorted(strata.values(), key=lambda one: (-one.margin, one.key))),
        regimes=tuple(regimes[key] for key in sorted(regimes)),
        findings=_findings(list(groups.values())),
        coverage={
            "cases": dict(Counter(f"{one.family} {one.dtype}" for one in supported)),
            "cells": dict(Counter(f"cell-{one.number % 5}" for one in supported)),
            "discovery": curve,
        },
    )


def _findings(groups: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """Shrink the first case of each group; those that come out the same become one."""
    found: dict[str, Finding] = {}
    for group in sorted(groups, key=lambda one: (-one["cases"], one["first"], one["group"])):
        kind, family = group["group"].partition("/")[0], group["group"].rpartition("/")[2]
        shrunk_to = f"{kind}-{group['first'] % 2}"
        one = examples.finding(
            id=shrunk_to,
            kind=kind,
            family=family,
            case=group["case"],
            recipe={"family": family, "case": group["case"]},
            similar=group["cases"],
            groups=(group,),
            repro={"file": f"{shrunk_to}.safetensors", "sha256": shrunk_to, "command": "replay"},
        )
        known = found.get(one.id)
        if known is not None:
            one = replace(known, similar=known.similar + one.similar, groups=known.groups + one.groups)
        found[one.id] = one
    return tuple(sorted(found.values(), key=lambda one: -one.similar))


def shard_reports(cases: list[Case], count: int, *, seed: int, **run) -> list[Report]:
    """Report the cases of each shard."""
    return [
        reported(
            [one for one in cases if one.number % count == index], seed=seed, shard=f"{index}/{count}", **run
        )
        for index in range(count)
    ]
