"""The kernel compiled for six GPUs, none of which need be there, and its instructions read."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = ["sm_80", "sm_90", "sm_100", "gfx942", "gfx950", "gfx1201"]
# Every target and width of store at the production shape; odd shapes, where a program takes many rows,
# on one target of each vendor.
JOBS = [
    f"{target}/{dtype}/128/512" for target in TARGETS for dtype in ("float32", "bfloat16", "float8_e4m3fn")
]
JOBS += [f"{target}/float16/{shape}" for target in ("sm_90", "gfx942") for shape in ("24/1", "1/80")]
# Arithmetic that rounds more than once, flushes or narrows: none may stand on the path of a result.
# float64's own reciprocal seed, refined by Newton inside the logarithm, is not among them.
APPROXIMATE = r"(ex2\.approx|lg2\.approx|div\.(full|approx)|(rcp|sqrt|rsqrt)\.approx[\w.]*\.f32)"
FLOAT32_ARITHMETIC = r"(?:add|sub|mul|fma|mad|div)\.[\w.]*f32"
# AMD divides 64-bit integers with the help of float32 rcp, mul and fma; those must be let be.
FLOAT32_ON_AMD = r"v_(?:exp|log|rsq|sqrt|add|sub|div_\w+)_f32"


@pytest.fixture(scope="module")
def assembly(tmp_path_factory) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    done = subprocess.run(
        [sys.executable, "-m", "mla_merge.tests.compile_targets", *JOBS],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("job", JOBS)
def test_instructions(job, assembly):
    text = assembly[job]
    if job.startswith("sm_"):
        assert re.findall(APPROXIMATE, text) == []
        assert re.findall(FLOAT32_ARITHMETIC, text) == []
        assert "div.rn.f64" in text
    else:
        assert re.findall(FLOAT32_ON_AMD, text) == []
        assert "v_div_fixup_f64" in text


def test_constants_are_not_narrowed(assembly):
    """ln 2 in full: as a float32 it would end in 60000000 or 0000000."""
    assert "0d3FE62E42FEFA39EF" in assembly["sm_90/float32/128/512"]


def test_patterns_can_match():
    for line in ("ex2.approx.ftz.f32 %f1, %f2;", "div.full.f32 %f1, %f2, %f3;", "lg2.approx.f32 %f1, %f2;"):
        assert re.findall(APPROXIMATE, line)
    assert re.findall(FLOAT32_ARITHMETIC, "mul.rn.f32 %f1, %f2, %f3;")
    assert re.findall(FLOAT32_ON_AMD, "v_exp_f32_e32 v1, v2")
