"""`python -m verify.replay`: what came, the least that shows it, and a test of it."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

import verify.replay.__main__ as replay
from fuzz.case import Domain
from fuzz.files import load_case, save_case
from verify.replay import to_test
from verify.subjects.peers import CONVENTIONS
from verify.tests.judging import case

pytest_plugins = ("pytester",)

KERNELS = """
import math
import torch
from verify.museum.honest import reference_merge

def merge(*inputs):
    return reference_merge(*inputs)

def shifted(*inputs):
    output, lse = reference_merge(*inputs)
    return output, lse + 1

def batchwise(*inputs):
    output, lse = reference_merge(*inputs)
    return output, torch.nextafter(lse, lse + 1) if len(lse) % 2 else lse

def dies(*inputs):
    import os
    os._exit(7)
"""
PLACE = ["--isolate", "off", "--device", "cpu"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(KERNELS)


@pytest.fixture
def tester(pytester):
    """Return pytest's own tester, which has a folder of its own."""
    (pytester.path / "kernels.py").write_text(KERNELS)
    return pytester


def run(capsys, *words, kernel="merge", place=PLACE):
    code = replay.main([*words, "--kernel", f"kernels.py:{kernel}", *place])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def fields(out, name):
    return next(line for line in out.splitlines() if line.startswith(f"{name} ")).split()[1:]


def test_of_a_case_that_passes_the_value_nearest_to_its_bound_is_told(capsys):
    code, out, _ = run(capsys, "0/17")
    assert code == 0
    assert re.search(r"^the (output|lse) nearest to its bound: \|error\| / bound = 0\.9\d+$", out, re.M)
    assert fields(out, "got")[1:] == fields(out, "exact")[1:]
    assert "bound -1" not in out
    assert "share of mass" in out
    assert out.splitlines()[-1].startswith("PASS kernels.py:merge case 0/17 outputs 8192 laws ")


def test_what_came_is_told_wherever_one_asks(capsys):
    stored = case([0.0, 1.0], [1.0, 1.0], [3.0, 0.0], "bfloat16")
    save_case(stored, "c.safetensors")
    _, out, _ = run(capsys, "c.safetensors", "--laws", "none", "--at", "0,0,0")
    assert fields(out, "got") == ["1.0", "0x1.0000000000000p+0", "0x3f80"]
    assert "error 0 ulp, 0 steps" in out
    _, out, _ = run(capsys, "c.safetensors", "--laws", "none", "--at", "0,0", kernel="shifted")
    assert float(fields(out, "got")[0]) == pytest.approx(2.0986123, rel=1e-6)
    assert float(fields(out, "exact")[0]) == pytest.approx(1.0986123, rel=1e-6)
    assert "rounded to" not in out.split("noticed by")[1]


def test_a_case_is_shrunk_stored_and_replayed(capsys):
    code, out, _ = run(capsys, "0/3", "--shrink", "--laws", "none", kernel="shifted")
    assert code == 1
    assert out.splitlines()[0].startswith("case T=1 H=1 S=1 R=1 tile=1 dtype=float32")
    command = shlex.split(next(line for line in out.splitlines() if line.startswith("replay ")))
    assert load_case(command[4]).outputs == 1
    assert replay.main([*command[4:], *PLACE]) == 1
    assert "WRONG_LSE noticed by oracle" in capsys.readouterr().out


def test_a_finding_is_named_by_its_id(capsys):
    code, out, _ = run(capsys, "0/3", "--shrink", "--laws", "none", kernel="shifted")
    file = Path(shlex.split(next(line for line in out.splitlines() if line.startswith("replay ")))[4])
    Path("kept/findings").mkdir(parents=True)
    file.rename(Path("kept/findings") / file.name)
    code, out, _ = run(capsys, file.stem, "--out=kept", "--laws", "none", kernel="shifted")
    assert (code, "noticed by oracle" in out) == (1, True)
    code, _, error = run(capsys, file.stem, "--out=elsewhere", kernel="shifted")
    assert code == 2
    assert "a finding's id in --out" in error


def test_a_broken_law_is_shrunk_by_that_law_alone(capsys):
    code, out, _ = run(
        capsys, "0/3", "--shrink", "--laws", "repeat,batch", "--bounds", "fp32", kernel="batchwise"
    )
    assert code == 1
    command = shlex.split(next(line for line in out.splitlines() if line.startswith("replay ")))
    assert command[command.index("--laws") + 1] == "batch"
    assert "--law-seed" in command
    assert command[command.index("--bounds") + 1] == "fp32"
    assert replay.main([*command[4:], *PLACE]) == 1


def test_where_there_is_nothing_to_shrink_it_says_so(capsys):
    code, out, _ = run(capsys, "0/17", "--shrink")
    assert code == 0
    assert "there is no fault to keep" in out
    assert not Path("out").exists()


def test_a_place_and_a_smaller_case_do_not_go_together(capsys):
    code, _, err = run(capsys, "0/17", "--shrink", "--at", "0,0")
    assert code == 2
    assert len(err.splitlines()) == 1


def written(capsys, *words, **options):
    """Return the exit code and the test that is printed, as a file."""
    capsys.readouterr()
    code, out, err = run(capsys, *words, "--to-test", **options)
    assert err.splitlines()[-1].startswith(("PASS ", "FAIL "))
    file = Path("test_written.py")
    file.write_text(out)
    return code, file


def outcome(tester, file):
    return tester.runpytest_inprocess("-p", "no:xdist", "-p", "no:cacheprovider", str(file.resolve()))


@pytest.mark.parametrize("words", [(), ("--shrink",)])
def test_the_printed_test_fails_while_the_kernel_does(capsys, tester, words):
    code, file = written(capsys, "0/3", "--laws", "none", *words, kernel="shifted")
    assert code == 1
    monkey = file.read_text()
    result = outcome(tester, file)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*WRONG_LSE noticed by oracle: lse is *"])
    file.write_text(monkey.replace("kernels.py:shifted", "kernels.py:merge"))
    outcome(tester, file).assert_outcomes(passed=1)


def test_a_printed_test_checks_the_law_that_was_broken(capsys, tester):
    options = ("--laws", "repeat,batch", "--bounds", "fp32", "--shrink")
    _, file = written(capsys, "0/3", *options, kernel="batchwise")
    assert "laws=('batch',), law_seed=" in file.read_text()
    assert "bounds='fp32'" in file.read_text()
    outcome(tester, file).assert_outcomes(failed=1)


def test_a_large_case_is_made_from_its_recipe_and_one_without_read_from_its_file(capsys, tester, monkeypatch):
    monkeypatch.setattr(to_test, "MOST_WORDS", 1)
    _, file = written(capsys, "0/17", "--laws", "none")
    assert "Recipe.from_json(" in file.read_text()
    outcome(tester, file).assert_outcomes(passed=1)
    save_case(case([0.0, 1.0], [1.0, 1.0], [3.0, 0.0]), "c.safetensors")
    _, file = written(capsys, "c.safetensors", "--laws", "none", kernel="shifted")
    assert "load_case(" in file.read_text()
    outcome(tester, file).assert_outcomes(failed=1)


def test_a_kernel_that_ends_its_process_is_tested_in_another(capsys):
    save_case(case([0.0], [1.0], [1.0]), "c.safetensors")
    code, file = written(capsys, "c.safetensors", "--laws", "none", kernel="dies", place=["--device", "cpu"])
    assert code == 1
    assert 'assert main(["replay", ' in file.read_text()
    compile(file.read_text(), str(file), "exec")
    (name,) = re.findall(r"'(out/tests/CRASH-\w+\.safetensors)'", file.read_text())
    assert Path(name).is_file()


def test_the_words_of_a_test_are_the_bits_of_the_case(tmp_path):
    o = torch.tensor([[[[1.5, -0.0, float("nan")], [float("-inf"), 2.0**-149, 3.0]]]])
    hard = case([0.0, float("-inf")], [1.0, 0.0], [1.0, 1.0])
    hard = type(hard)(
        segm_output=o,
        segm_max=hard.segm_max,
        segm_expsum=hard.segm_expsum,
        seq_lens=torch.tensor([2**40], dtype=torch.int64),
        tile_size=2**31 - 1,
        out_dtype="float8_e4m3fn",
        domain=Domain.STRESS,
    )
    text = to_test.as_test(hard, None, file=Path("passes-1.safetensors"), kernel='a"b:c', options={})
    caught = []
    space: dict[str, Any] = {"__name__": "written"}
    exec(text.replace("from verify import assert_merge", "assert_merge = None"), space)
    space["assert_merge"] = lambda *inputs: caught.extend(inputs)
    space["test_merge_passes_1"]()
    kernel, *inputs, tile, dtype = caught
    assert kernel == 'a"b:c'
    assert (tile, dtype) == (2**31 - 1, torch.float8_e4m3fn)
    for came, wanted in zip(inputs, (hard.segm_output, hard.segm_max, hard.segm_expsum), strict=False):
        assert torch.equal(came.cpu().view(torch.int32), wanted.view(torch.int32))
    assert torch.equal(inputs[3].cpu(), hard.seq_lens)


def test_a_convention_is_told_and_kept_in_the_command(capsys):
    assert "segments" in CONVENTIONS
    code, _, err = run(capsys, "0/17", "--convention", "nosuch")
    assert code == 2
    assert "--convention: 'nosuch' is none of" in err
