"""A small report to render and to read back."""

from __future__ import annotations

import math

from reports.records import Finding, Number, Report
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
