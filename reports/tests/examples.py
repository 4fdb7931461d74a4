"""A small report to render and to read back."""

from __future__ import annotations

import math
from typing import Any

from reports.records import Finding, Number, Report
from reports.regimes import CONDITIONING_EDGES, Regime, RegimeKey
from reports.strata import EDGES, Stratum, StratumKey


def stratum(family: str = "ties", dtype: str = "float32", result: str = "output", **changes) -> Stratum:
    counts = [0] * (len(EDGES) - 1)
    counts[0], counts[31] = 9, 1
    values = {
        "cases": 1,
        "outputs": 11,
        "numbers": 10,
        "misrounded": 1,
        "max_ulp": 0.499,
        "judged_ulp": 0.49,
        "margin": 0.995,
        "witness": "0/1 at [0, 0, 3]",
        "sum_units": 1 << 30,
        "counts": tuple(counts),
    }
    return Stratum(key=StratumKey(family, "stress", dtype, result), **{**values, **changes})


def finding(**changes) -> Finding:
    values = {
        "id": "SPURIOUS_NAN-0123456789",
        "kind": "SPURIOUS_NAN",
        "detector": "oracle",
        "family": "empties",
        "result": "output",
        "message": "output is nan where 0.0 is right",
        "recipe": {"family": "empties"},
        "case": "0/1",
        "shape": {"T": 1, "H": 1, "S": 1, "R": 1, "tile": 1},
        "where": {"token": 0, "head": 0, "column": 0},
        "got": Number(dec="nan", hex="nan", bits="0x7fc00000"),
        "exact": Number(dec="0.0", hex="0x0.0p+0", bits="0x00000000"),
        "ulp": None,
        "steps": None,
        "bound": None,
        "values": {"m": "[-inf]"},
        "shrunk": True,
        "similar": 3,
        "groups": ({"group": "SPURIOUS_NAN/output//empties", "first": 1, "cases": 3, "case": "0/1"},),
        "repro": {"file": "out/x.safetensors", "sha256": "00", "command": "python -m verify.replay out/x"},
    }
    return Finding(**{**values, **changes})


def segment(index: int, **changes) -> dict[str, Any]:
    number = {"dec": "1.5", "hex": "0x1.8p+0"}
    return {"segment": index, "m": number, "s": number, "o": number, "weight": 1.0, "share": 0.5, **changes}


def regimes() -> tuple[Regime, ...]:
    """Errors that grow with S and with what cancels, of two dtypes and of the lse."""
    keys = [
        RegimeKey(dtype, result, 1 << power, bits)
        for dtype, result in (("float32", "output"), ("bfloat16", "output"), ("float32", "lse"))
        for power in range(4)
        for bits in CONDITIONING_EDGES[:8]
    ]
    return tuple(
        Regime(
            key=key,
            numbers=10,
            misrounded=1,
            max_ulp=0.49 + 2.0 ** (key.conditioning - 20),
            judged_ulp=0.49,
            margin=0.9,
            bound=0.501 + key.segments * 2.0 ** (key.conditioning - 20),
        )
        for key in sorted(keys)
    )


def full_report() -> Report:
    """Return a report in which every optional part is there."""
    known = {"id": "CRASH-1", "issue": "https://example.org/7", "review": "2027-01-01", "reason": "why"}
    measured = finding(
        id="WRONG_VALUE-1",
        kind="WRONG_VALUE",
        got=Number(dec="1.0", hex="0x1.0p+0", bits="0x3f800000"),
        ulp=2.5,
        steps=3,
        bound=0.501,
        issue="https://example.org/7",
        diagnosis="consistent with a weight rounded to bfloat16",
        proof="1.4999 < exact < 1.5001",
        segments=(segment(0), segment(1, weight=None, share=None)),
    )
    shard = {
        "id": "a",
        "shard": "0/1",
        "argv": ["x"],
        "workers": 1,
        "exit_code": 0,
        "cases": 1,
        "elapsed_s": 1.5,
    }
    times = {"started": "2026-01-01T00:00:00+00:00", "finished": "2026-01-01T00:00:02+00:00"}
    plain = report()
    return report(
        run={
            **plain.run,
            "shards": [{**shard, **times, "status": "judged", "stopped_by": "", "notes": ["n"]}],
        },
        strata=(
            stratum(),
            stratum("empties", "bfloat16", failed=2, margin=7.0, max_ulp=3.5),
            stratum(result="lse", judged_ulp=0.5, margin=0.999),
            stratum("empties", "bfloat16", "lse"),
        ),
        regimes=regimes(),
        ledger={"path": "known.toml", "sha256": "56" * 32, "hits": [known], "stale": [known], "overdue": []},
        findings=(finding(where=None, got=None, exact=None, recipe=None), measured),
        totals={
            **plain.totals,
            "failed": 1,
            "known": 1,
            "unsupported": {"S": 3},
            "out_of_domain": {"overflow": 2},
            "laws": {"tail": {"cases": 1, "rows": 2}},
        },
        coverage={
            "cases": {"ties float32": 1, "empties bfloat16": 2},
            "cells": {"a": 1, "b": 2},
            "discovery": [[0, 0.5], [7, 0.75]],
            "hunt_discovery": [[1, 0.9]],
        },
        artifacts=({"path": "out/x.safetensors", "sha256": "00"},),
        notes=("a note",),
    )


def report(**changes) -> Report:
    values = {
        "tool": {"name": "mla-merge-verify", "version": "0.1.0", "revision": "abcdef" * 6, "dirty": False},
        "run": {
            "id": "0f" * 16,
            "started": "2026-01-01T00:00:00+00:00",
            "finished": "2026-01-01T00:00:02+00:00",
            "argv": ["--shard", "0/1"],
            "profile": "quick",
            "max_cases": None,
            "seed": 0,
            "families": ["ties"],
            "dtypes": ["float32"],
            "laws": ["tail"],
            "shard": "0/1",
            "streams": {"drawn": 1},
            "workers": 2,
            "mode": "interpret",
            "status": "judged",
            "stopped_by": "",
            "exit_code": 0,
            "config": {"seed": {"value": 0, "source": "default"}},
        },
        "environment": {
            "device": "cpu",
            "arch": "x86_64",
            "cpus": 2,
            "versions": {"torch": "2.13.0"},
            "variables": {},
        },
        "subject": {"name": "mla_merge", "import_path": "mla_merge:merge", "source_sha256": "12" * 32},
        "oracle": {"certified_fraction": 1.0, "tiers": {"exact": 11}, "bits": 384},
        "bounds": {"path": "bounds.toml", "sha256": "34" * 32, "used": {"ulp": 0.501}},
        "totals": {
            "cases": 1,
            "planned": 1,
            "passed": 1,
            "failed": 0,
            "values_passed": 11,
            "values_failed": 0,
            "outputs": 11,
            "known": 0,
            "unsupported": {},
            "out_of_domain": {},
            "laws": {},
            "values": 11,
            "elapsed_s": 1.5,
            "compile_s": 0.25,
            "outputs_per_s": math.inf,
        },
        "coverage": {"cases": {"ties float32": 1}},
        "strata": (stratum(), stratum(result="lse", judged_ulp=0.5, margin=0.999)),
    }
    return Report(**{**values, **changes})
