"""`verify.check`: a run as a function, and what it leaves of the process that calls it."""

import importlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import triton.language  # noqa: F401 - imported in the mode of these tests

import verify
from reports.serialize import read_report
from verify import fuzz
from verify.campaign.pool import InternalError
from verify.cli.config import UsageError
from verify.museum.honest import reference_merge
from verify.testing import checking, here

FEW: dict[str, Any] = {"max_cases": 2, "family": "producer", "dtype": "bfloat16", "laws": (), "device": "cpu"}
HERE = {**FEW, "isolate": "off"}
ROOT = Path(__file__).resolve().parents[3]


def merge(*inputs):
    return reference_merge(*inputs)


def broken(*inputs):
    output, lse = reference_merge(*inputs)
    return output, lse + 1


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_run_returns_the_report_that_it_wrote(capsys):
    report = verify.check(merge, **HERE)
    assert report.run["exit_code"] == 0
    assert report.totals["cases"] == 2
    assert report == read_report(Path("out/report.json"))
    assert capsys.readouterr().out == ""


def test_a_fault_is_in_the_report_and_raises_nothing():
    report = verify.check(broken, **HERE, out="elsewhere")
    assert report.run["exit_code"] == 1
    assert report.findings[0].kind == "WRONG_LSE"
    assert "--kernel verify.testing.tests.test_checking:broken" in report.findings[0].repro["command"]
    assert Path("elsewhere/report.json").is_file()


def test_a_function_of_a_module_runs_in_another_process():
    seen = f"{os.getpid()}"
    Path("kernel.py").write_text(
        "import os\nfrom verify.museum.honest import reference_merge\n"
        f"def merge(*inputs):\n    assert os.getpid() != {seen}\n    return reference_merge(*inputs)\n"
    )
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module("kernel")
        report = verify.check(module.merge, **FEW, workers=1)
    finally:
        sys.path.remove(str(Path.cwd()))
        sys.modules.pop("kernel", None)
    assert report.run["exit_code"] == 0
    assert report.subject["import_path"] == "kernel.py:merge"


def test_what_has_no_name_runs_here_and_a_finding_says_that_it_cannot_be_replayed():
    report = verify.check(partial(broken), **FEW)
    assert report.subject["name"] == "in_this_process:merge"
    assert any("make the kernel a function of a module" in note for note in report.notes)
    assert "in_this_process" not in sys.modules
    assert not any("make the kernel" in note for note in verify.check(partial(merge), **FEW).notes)


def test_what_has_no_name_cannot_be_isolated():
    with pytest.raises(UsageError, match="make it a function of a module"):
        verify.check(partial(merge), **FEW, isolate="on")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"profile": "nosuch"}, "--profile: 'nosuch' is none of"),
        ({"family": ("producer", "nosuch")}, "--family: 'nosuch' is none of"),
        ({"bounds": Path("nosuch.toml")}, "--bounds: nosuch.toml is neither"),
        ({"device": "tpu"}, "--device: 'tpu' is none of"),
    ],
)
def test_a_mistake_is_one_line(changed, complaint):
    with pytest.raises(UsageError, match=complaint) as raised:
        verify.check(merge, **{**HERE, **changed})
    assert len(str(raised.value).splitlines()) == 1


def test_the_profile_is_smoke_unless_somebody_says(monkeypatch):
    given = []
    monkeypatch.setattr(checking, "_run", lambda options: given.append(options["profile"]))
    verify.check("a:b")
    monkeypatch.setenv("MLA_VERIFY_PROFILE", "ci")
    verify.check("a:b")
    verify.check("a:b", profile="nightly")
    assert given == ["smoke", "ci", "nightly"]


@pytest.mark.parametrize(("code", "raised"), [(3, InternalError), (130, KeyboardInterrupt), (2, UsageError)])
def test_what_is_no_verdict_is_raised(code, raised, monkeypatch):
    monkeypatch.setattr(fuzz, "main", lambda argv: print("error: said", file=sys.stderr) or code)
    with pytest.raises(raised):
        verify.check("a:b")


def test_a_launcher_makes_no_shard_of_it(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert verify.check(merge, **HERE).run["shard"] == "0/1"


def test_what_a_kernel_prints_here_is_kept_and_the_verdict_is_not(capsys):
    verify.check(lambda *inputs: (print("kernel speaking"), merge(*inputs))[1], **FEW)
    out = capsys.readouterr().out
    assert "kernel speaking" in out
    assert "PASS" not in out


def test_the_process_is_as_it_was(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.set_flush_denormal(True)
    try:
        with np.errstate(over="raise"):
            before = np.geterr()
            verify.check(partial(merge), **FEW)
            assert np.geterr() == before
        assert os.environ["TRITON_INTERPRET"] == "0"
        assert torch.get_num_threads() == 2
        assert float(torch.tensor(2.0**-126) * 0.5) == 0.0
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


def test_triton_in_another_mode_is_one_line(monkeypatch):
    monkeypatch.setattr(here, "imported_mode", lambda: None)
    assert here.mode_note("cpu") == ""
    monkeypatch.setattr(here, "imported_mode", lambda: "device")
    assert here.mode_note("cuda:1") == ""
    assert "set it to 1 before this process starts" in here.mode_note("cpu")
    assert here.mode_note("cpu") in verify.check(partial(merge), **FEW).notes
    monkeypatch.setattr(here, "imported_mode", lambda: "interpret")
    assert here.mode_note("cpu") == ""
    assert len(here.mode_note("cuda").splitlines()) == 1


def test_the_mode_is_that_in_which_triton_was_imported():
    said = "from verify.testing.here import imported_mode as mode\nassert mode() is None\n"
    said += "import os, triton.language\n"
    said += "os.environ['TRITON_INTERPRET'] = '1'\nprint(mode())"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-c", said], env=variables, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["device"]
    if "TRITON_INTERPRET" in os.environ:  # as the plugin of these tests sets it where there is no GPU
        assert here.imported_mode() == "interpret"
