"""The engines: what they have, what they refuse, and that the kernels compile for a GPU that is not here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from verify.env.in_torch import TorchEngine
from verify.env.in_triton import TritonEngine
from verify.env.probe import REFUSED, RefusedError
from verify.env.registry import PROBES

ROOT = Path(__file__).parents[3]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ENGINES: list[Any] = [TorchEngine(DEVICE), TritonEngine(DEVICE)]

UNARY = {"copy", "exp2", "log2", "log"}

COMPILE = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from verify.env import kernels
from verify.env.in_triton import _ELEMENTWISE, _REDUCING
target = GPUTarget("cuda", 90, 32)
integers = ("product", "sum", "divide integers", "remainder")
for op in _ELEMENTWISE:
    dtype = "*i32" if op in integers else "*fp32"
    pointers = {name: dtype for name in ("a_ptr", "b_ptr", "c_ptr", "out_ptr")}
    types = {**pointers, "n": "i32", "OP": "constexpr", "BLOCK": "constexpr"}
    source = ASTSource(fn=kernels.elementwise, signature=types, constexprs={"OP": op, "BLOCK": 1024})
    assert triton.compile(source, target=target).asm["cubin"], op
narrower = ("*fp16", "*bf16", "*fp8e4nv", "*fp8e5")
casts = [("*fp32", to) for to in narrower] + [("*fp64", to) for to in ("*fp32", *narrower[:2])]
for dtype, out in (*casts, ("*fp16", "*fp32"), ("*bf16", "*fp32"), ("*fp32", "*fp64")):
    types = {**{name: dtype for name in ("a_ptr", "b_ptr", "c_ptr")}, "out_ptr": out, "n": "i32"}
    types |= {"OP": "constexpr", "BLOCK": "constexpr"}
    source = ASTSource(fn=kernels.elementwise, signature=types, constexprs={"OP": "copy", "BLOCK": 1024})
    assert triton.compile(source, target=target).asm["cubin"], (dtype, out)
for op in _REDUCING:
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "OP": "constexpr", "ROWS": "constexpr", "N": "constexpr"}
    source = ASTSource(fn=kernels.reduce_rows, signature=types, constexprs={"OP": op, "ROWS": 512, "N": 32})
    assert triton.compile(source, target=target).asm["cubin"], op
types = {"out_ptr": "*i64", "a": "i32", "b": "i32"}
source = ASTSource(fn=kernels.product_of_arguments, signature=types, constexprs={})
assert triton.compile(source, target=target).asm["cubin"]
print("compiled")
"""


def test_names_are_unique_and_every_probe_is_asked_of_some_engine():
    names = [probe.name for probe in PROBES.values()]
    assert len({*names}) == len(names)
    for probe in PROBES.values():
        assert any(probe.needs <= engine.operations for engine in ENGINES), probe.name
        assert probe.needs
        assert len({*probe.answers}) == len(probe.answers) >= 2
        assert REFUSED not in probe.answers
        assert probe.question.endswith("?")
        assert probe.follows
        assert not probe.follows.endswith(".")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_every_operation_runs(engine):
    integers = {"product", "product of arguments", "sum", "divide integers", "remainder"}
    three = {"clamp", "clamp, NaN too", "fma"}
    for operation in engine.operations:
        if operation.endswith(("a row", "a column")):
            rows = torch.arange(64.0).view(2, 32)
            wanted = rows.amax(1) if operation.startswith("largest") else rows.sum(1)
            assert torch.equal(engine.reduce(operation, rows), wanted), operation
            continue
        dtype = torch.int32 if operation in integers else torch.float32
        operands = [torch.full((2,), value, dtype=dtype) for value in (3, 2, 1)]
        count = 1 if operation in UNARY else 3 if operation in three or "subtract" in operation else 2
        got = engine.compute(operation, *operands[:count])
        assert got.dtype == dtype, operation
        assert got[0] == got[1] != 113, operation


def test_an_operation_that_triton_does_not_have_is_refused():
    with pytest.raises(RefusedError):
        ENGINES[1].compute("cube", torch.ones(1))
    with pytest.raises(RefusedError):
        ENGINES[1].reduce("median of a row", torch.ones(1, 32))


def test_torchs_own_refusals_are_refusals():
    with pytest.raises(RefusedError, match=r"^RuntimeError: "):
        ENGINES[0].compute("add", torch.ones(2), torch.ones(3))
    assert PROBES["contraction/fma/float32"].needs - ENGINES[0].operations


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_blocks_and_rows_beyond_one_launch_are_all_there(engine):
    many = torch.arange(300_001.0)
    assert torch.equal(engine.compute("copy", many), many)
    rows = torch.arange(32 * 600.0).view(600, 32)
    assert torch.equal(engine.reduce("largest of a row", rows), rows[:, -1])


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_same_question_has_the_same_answer(engine):
    for name in ("accuracy/exp2", "order/sum of a row/float32", "rounding/float32 to float8_e5m2"):
        assert PROBES[name].ask(engine, 0) == PROBES[name].ask(engine, 0)


def test_kernels_compile_for_sm_90():
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, cwd=ROOT, env=variables, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "compiled"), done.stderr[-2000:]


@pytest.mark.gpu
def test_a_gpu_answers_as_its_instructions_are_documented():
    triton = TritonEngine("cuda")
    assert PROBES["contraction/fma/float32"].ask(triton, 0).answer == "fused"
    assert PROBES["order/sum of a row/float32"].ask(triton, 0).answer != REFUSED
    assert PROBES["32 bits/product of arguments"].ask(triton, 0).answer == "wrapped"
    for name in ("divide", "exp2", "log2", "log"):
        found = PROBES[f"accuracy/{name}"].ask(triton, 0)
        assert found.measured["max_ulp"] < 3, name
        assert found.measured["misplaced"] == 0, name
