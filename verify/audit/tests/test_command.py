"""The command on kernels that keep their bounds, that do not, and that are none."""

import json
import os
from typing import Any

import pytest

from verify import commands
from verify.audit.__main__ import main
from verify.audit.compile import Request, compile_all
from verify.audit.targets import TARGETS
from verify.campaign.pool import InternalError
from verify.cli.exits import CLEAN, FOUND, NOTHING_JUDGED, USAGE
from verify.museum.registry import EXHIBITS

FAST = ("--target", "sm_90,gfx942", "--shapes", "32,16,16,16", "--dtype", "float32")

MERGE = """
import torch, triton
import triton.language as tl

@triton.jit
def copy_kernel(o_ptr, y_ptr, n, BLOCK: tl.constexpr, SCALE: tl.constexpr = 1):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(o_ptr + i, mask=i < n, other=0.0).to(tl.float64)
    tl.store(y_ptr + i, (x * SCALE).to(tl.float32), mask=i < n)

def results(o, dtype):
    t, h, s, r = o.shape
    return torch.empty(t, h, r, dtype=dtype, device=o.device), torch.zeros(t, h, device=o.device)

def merge(o, m, s, lens, tile, dtype):
    y, lse = results(o, dtype)
    copy_kernel[(8,)](o, y, y.numel(), BLOCK=128)
    return y, lse
"""


@pytest.fixture
def run(tmp_path, capsys):
    def run(*argv: str) -> tuple[int, str, dict[str, Any]]:
        code = main([*FAST, "--out", str(tmp_path / "out"), "--workers", "2", *argv])
        file = tmp_path / "out" / "audit.json"
        said = capsys.readouterr()
        return code, said.err + said.out, json.loads(file.read_text()) if file.is_file() else {}

    return run


@pytest.fixture
def kernel(tmp_path):
    def write(source: str) -> tuple[str, str]:
        file = tmp_path / "kernel.py"
        file.write_text(MERGE + source)
        return "--kernel", f"{file}:merge"

    return write


def test_the_production_kernel_keeps_the_default_bounds(run, tmp_path):
    code, said, report = run()
    assert code == CLEAN
    assert said.splitlines()[-1].startswith("PASS mla_merge audit targets 2 kernels 2 spilling 0 errors 0")
    assert {target["bound"] for target in report["targets"]} == {"0.501 ulp + 2^-53·(S + 16 + d)"}
    for target in report["targets"]:
        (compiled,) = target["kernels"]
        assert compiled["resources"]["registers"] > 16
        assert compiled["calls"] == ["T=32 H=16 S=16 active=16 R=512 float32"]
        assert (tmp_path / "out" / "assembly" / compiled["assembly"]).is_file()
    page = (tmp_path / "out" / "audit.md").read_text()
    assert "`div.rn.f64`" in page
    assert "PTX ISA" in page
    assert "RDNA4 ISA" in page


def test_a_float32_merge_does_not_but_keeps_those_for_float32(run):
    code, said, report = run("--kernel", "baseline_fp32", "--bounds", "default")
    assert code == FOUND
    nvidia, amd = (target["complaints"] for target in report["targets"])
    for complaints, opcode in ((nvidia, "ex2.approx.ftz.f32"), (amd, "v_exp_f32"), (nvidia, "div.full.f32")):
        (complaint,) = [c for c in complaints if c["opcode"] == opcode]
        assert "approximate" in complaint["reasons"]
        assert complaint["place"].startswith("baseline_fp32.py:")
    assert "FAIL  sm_90 ex2.approx.ftz.f32 at baseline_fp32.py:" in said
    code, said, report = run("--kernel", "baseline_fp32", "--bounds", "fp32")
    assert (code, said.splitlines()[-1][:5]) == (CLEAN, "PASS ")
    assert [target["bound"] for target in report["targets"]] == [
        "fp32, a 7, b 11, c 4",
        "fp32, a 5, b 6, c 4",
    ]


@pytest.mark.parametrize(
    ("name", "nvidia", "amd"),
    [
        ("triton_maximum_of_the_padding", "ex2.approx.ftz.f32", "v_exp_f32"),
        ("triton_float32_sums", "add.f32", "v_add_f32"),
        ("triton_float32_reciprocal", "cvt.rn.f32.f64", "v_cvt_f32_f64"),
    ],
)
def test_exhibits_of_the_museum(run, name, nvidia, amd):
    code, said, report = run("--kernel", EXHIBITS[name].path)
    assert code == FOUND
    for target, opcode in zip(report["targets"], (nvidia, amd), strict=True):
        assert any(
            complaint["opcode"] == opcode and "triton_kernel.py:" in complaint["place"]
            for complaint in target["complaints"]
        )
    assert "triton_kernel.py:" in said


def test_an_exhibit_whose_fault_is_no_instruction_passes(run):
    assert run("--kernel", EXHIBITS["triton_lse_by_head"].path)[0] == CLEAN


def test_a_kernel_that_launches_nothing(run):
    code, said, report = run("--kernel", EXHIBITS["zeroed"].path)
    assert (code, report) == (USAGE, {})
    assert "launched a Triton kernel" in said


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def merge(*arguments):\n    raise ValueError('only on Sundays')", USAGE, "only on Sundays"),
        ("def merge(o, *others):\n    copy_kernel[(1,)](o, o, 1, BLOCK=100)", FOUND, "power of 2"),
        ("merge = 1", USAGE, "no callable"),
        ("def merge(*arguments):\n    import os; os._exit(7)", USAGE, "ended with code 7"),
    ],
)
def test_a_kernel_that_cannot_be_compiled(run, kernel, source, code, said):
    came, text, _ = run(*kernel(source))
    assert came == code
    assert said in text
    assert "Traceback" not in text


def test_a_launcher_that_asks_where_it_is(run, kernel):
    source = """
def merge(o, m, s, lens, tile, dtype):
    assert o.is_cuda and o.device.type == "cuda" and torch.cuda.is_available()
    target = triton.runtime.driver.active.get_current_target()
    assert target.backend == ("hip" if torch.version.hip else "cuda")
    y, lse = results(o, dtype)
    with torch.cuda.device(o.device):
        scratch = torch.zeros_like(y).to("cuda", torch.float32)
        copy_kernel[(8,)](o, scratch, y.numel(), BLOCK=128)
        if torch.version.hip:
            copy_kernel[(8,)](o, y, y.numel(), BLOCK=256)
    return y, lse
"""
    code, _, report = run(*kernel(source))
    assert code == CLEAN
    assert [len(target["kernels"]) for target in report["targets"]] == [1, 2]


def test_every_configuration_of_an_autotuner_is_compiled(run, kernel):
    source = """
tuned = triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128, 256)], key=["n"])(copy_kernel)

def merge(o, m, s, lens, tile, dtype):
    y, lse = results(o, dtype)
    tuned[(8,)](o, y, y.numel())
    return y, lse
"""
    code, _, report = run(*kernel(source), "--target", "sm_90")
    assert code == CLEAN
    blocks = [compiled["constants"]["BLOCK"] for compiled in report["targets"][0]["kernels"]]
    assert sorted(blocks) == ["128", "256", "64"]


def test_launches_that_are_alike_are_compiled_once(run, kernel):
    source = """
def merge(o, m, s, lens, tile, dtype):
    y, lse = results(o, dtype)
    for _ in range(3):
        copy_kernel[(8,)](o, y, y.numel(), BLOCK=128)
    return y, lse
"""
    _, _, report = run(*kernel(source), "--target", "sm_90", "--dtype", "float32,bfloat16")
    found = [compiled["calls"] for compiled in report["targets"][0]["kernels"]]
    assert [[call.split()[-1] for call in calls] for calls in found] == [["bfloat16"], ["float32"]]


def test_a_kernel_in_its_own_convention(run, kernel):
    source = """
def merge(o, l):
    t, s, h, r = o.shape
    y = torch.empty(t, h, r, dtype=o.dtype, device=o.device)
    copy_kernel[(8,)](o, y, y.numel(), BLOCK=128)
    return y, l[:, 0]
"""
    convention = ("--convention", "flashinfer_merge_states", "--dtype", "bfloat16", "--target", "sm_90")
    _, _, report = run(*kernel(source), *convention)
    (compiled,) = report["targets"][0]["kernels"]
    assert compiled["signature"]["o_ptr"] == compiled["signature"]["y_ptr"] == "*bf16"


def test_a_fault_of_the_suite_is_no_fault_of_the_kernel(tmp_path):
    request = Request(
        kernel="mla_merge", convention="none such", calls=(), folder=tmp_path, timeout_s=60
    )  # fmt: skip
    with pytest.raises(InternalError, match="KeyError"):
        compile_all(request, [TARGETS["sm_90"]], 1, lambda done, total, said: None)


def test_what_a_kernel_does_not_declare_is_not_judged(run, kernel):
    declared = "\nfrom verify.subjects import supports\nmerge = supports(dtypes='float16')(merge)\n"
    code, said, _ = run(*kernel(declared), "--target", "sm_90")
    assert code == NOTHING_JUDGED
    assert "unsupported 1" in said


def test_the_interpreter_is_off_where_a_kernel_is_compiled(run, kernel, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert run(*kernel(""), "--target", "sm_90")[0] == CLEAN
    assert os.environ["TRITON_INTERPRET"] == "1"


def test_usage(run):
    assert run("--target", "sm_1")[0] == USAGE
    assert run("--workers", "none")[0] == USAGE
    assert run("--timeout", "0.1s")[0] == USAGE


def test_the_list_names_the_targets(capsys):
    assert commands.main(["audit", "--list"]) == CLEAN
    assert "gfx1201  RX 9070" in capsys.readouterr().out
