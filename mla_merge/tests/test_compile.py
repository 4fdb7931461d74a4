"""The kernel compiled for six GPUs, none of which need be there, and its instructions read."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mla_merge import plan

ROOT = Path(__file__).parents[2]
TARGETS = ["sm_80", "sm_90", "sm_100", "gfx942", "gfx950", "gfx1201"]
# Every regime, with the most segments it is given; those that are given few or many, with few as well.
REGIMES = [
    *("STREAM/4/128", "EAGER_STREAM/4/8", "HALVES/4/128", "DEEP_HALVES/4/16", "QUARTERS/4/128"),
    *("SLICES/4/128", "LONG_SLICES/4/128", "WHOLE_16/4/16", "WHOLE_32/4/32", "WHOLE_64/4/64", "STRIPS/4/64"),
]
OTHERS = [
    *("bfloat16/STREAM/4/32", "bfloat16/HALVES/4/32"),  # few segments
    *("float32/HALVES/4/128", "float8_e4m3fn/HALVES/1/128"),  # other widths of store, nothing contiguous
]
# On every target.
JOBS = [f"{target}/bfloat16/{regime}" for target in TARGETS for regime in REGIMES]
JOBS += [f"{target}/{job}" for target in TARGETS for job in OTHERS]
PROCESSES = 2
# Arithmetic that rounds more than once, flushes or narrows: none may stand on the path of a result.
# float64's own reciprocal seed, refined by Newton inside the logarithm, is not among them.
APPROXIMATE = r"(ex2\.approx|lg2\.approx|div\.(full|approx)|(rcp|sqrt|rsqrt)\.approx[\w.]*\.f32)"
FLOAT32_ARITHMETIC = r"(?:add|sub|mul|fma|mad|div)\.[\w.]*f32"
# AMD divides 64-bit integers with the help of float32 rcp, mul and fma; those must be let be.
FLOAT32_ON_AMD = r"v_(?:exp|log|rsq|sqrt|add|sub|div_\w+)_f32"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> dict[str, dict[str, Any]]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    command = [sys.executable, "-m", "mla_merge.tests.compile_targets"]
    running = [
        subprocess.Popen(
            [*command, *JOBS[i::PROCESSES]],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(PROCESSES)
    ]
    found: dict[str, dict[str, Any]] = {}
    for process in running:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
        found |= json.loads(out)
    return found


@pytest.mark.parametrize("job", JOBS)
def test_instructions(job, compiled):
    text = compiled[job]["assembly"]
    if job.startswith("sm_"):
        assert re.findall(APPROXIMATE, text) == []
        assert re.findall(FLOAT32_ARITHMETIC, text) == []
        assert "div.rn.f64" in text
    else:
        assert re.findall(FLOAT32_ON_AMD, text) == []
        assert "v_div_fixup_f64" in text
        # Subnormals of float32 are kept (3), also by the cast that makes them.
        assert re.search(r"\.amdhsa_float_denorm_mode_32 3", text)


@pytest.mark.parametrize("job", JOBS)
def test_nothing_is_spilled(job, compiled):
    assert compiled[job]["local"] == 0


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_loads_are_wide(target, compiled):
    """16 bytes a thread in every regime that gives a thread four columns."""
    wide = [regime for regime in REGIMES if getattr(plan, regime.split("/")[0]).block_r >= 128]
    assert len(wide) >= 5
    for regime in wide:
        assert re.search(r"ld\.global\.[\w:.]*v4\.b32", compiled[f"{target}/bfloat16/{regime}"]["assembly"])


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_nothing_waits_for_a_barrier(target, compiled):
    """Warps pass nothing through shared memory."""
    for job in JOBS:
        if job.startswith(target):
            assert re.findall(r"\bbar\.|\.shared", compiled[job]["assembly"]) == []


def test_constants_are_not_narrowed(compiled):
    """ln 2 in full: as a float32 it would end in 60000000 or 0000000."""
    assert "0d3FE62E42FEFA39EF" in compiled["sm_90/float32/HALVES/4/128"]["assembly"]


def test_patterns_can_match():
    for line in ("ex2.approx.ftz.f32 %f1, %f2;", "div.full.f32 %f1, %f2, %f3;", "lg2.approx.f32 %f1, %f2;"):
        assert re.findall(APPROXIMATE, line)
    assert re.findall(FLOAT32_ARITHMETIC, "mul.rn.f32 %f1, %f2, %f3;")
    assert re.findall(FLOAT32_ON_AMD, "v_exp_f32_e32 v1, v2")
