"""The plugin as pytest runs it, by pytest's own tester; kernels run in its process, without workers."""

import functools
import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reports.tests.examples import report
from verify.testing import checking

pytest_plugins = ("pytester",)

ROOT = Path(__file__).resolve().parents[3]
IS_INSTALLED = any(entry.name == "mla-verify" for entry in importlib.metadata.entry_points(group="pytest11"))
LOADED = () if IS_INSTALLED else ("-p", "verify.testing.plugin")
KERNELS = """
from verify.museum.honest import reference_merge

def merge(*inputs):
    return reference_merge(*inputs)
"""
FEW = 'max_cases=2, family="producer", dtype="bfloat16", laws="none", isolate="off"'


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs a test module in this process and gives pytest's result."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    pytester.makepyfile(my_kernels=KERNELS)

    def run(source, *options):
        pytester.makepyfile(test_it=source)
        return pytester.runpytest_inprocess(*LOADED, "-p", "no:xdist", "-p", "no:cacheprovider", *options)

    return run


@pytest.fixture
def asked(monkeypatch):
    """Put a check in place that notes what it is asked for and gives a report that passes."""
    calls = []

    @functools.wraps(checking.check)
    def check(kernel=None, **options):
        calls.append({"kernel": kernel, **options})
        return report()

    monkeypatch.setattr(checking, "check", check)
    return calls


ASK = """
    import pytest

    @pytest.mark.merge_gate(profile="ci", bounds="fp32", max_cases=7)
    class TestGroup:
        @pytest.mark.merge_gate(max_cases=8)
        def test_merge(self, merge_gate):
            merge_gate("a:b", family="empties")
"""


def test_the_three_lines_of_the_readme_are_a_whole_integration(run, asked):
    result = run(
        """
        def test_merge(merge_gate):
            from my_kernels import merge
            merge_gate(merge)
        """
    )
    result.assert_outcomes(passed=1)
    (call,) = asked
    assert (call["kernel"].__module__, call["kernel"].__name__) == ("my_kernels", "merge")
    assert set(call) == {"kernel", "out"}


def test_a_kernel_is_judged_and_its_verdict_is_printed(run):
    result = run(f"def test_merge(merge_gate):\n    merge_gate('my_kernels.py:merge', {FEW})")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*= mla-verify =*", "test_it.py::test_merge: PASS my_kernels.py:merge cases 2 *"]
    )


def test_a_finding_fails_the_test_and_says_how_to_see_it_again(run):
    result = run(
        f"""
        from verify.museum.honest import reference_merge

        def broken(*inputs):
            output, lse = reference_merge(*inputs)
            return output, lse + 1

        def test_merge(merge_gate):
            merge_gate(broken, {FEW})
        """,
        "--mla-report=kept",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL *test_it.py:broken cases 2 *",
            "WRONG_LSE (2 cases): lse is * where * is right",
            "*  got  *",
            "*  replay  python -m verify.replay kept/*.safetensors --kernel *test_it.py:broken*",
            "report: kept/test_it.py-test_merge/report.json and *",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert Path("kept/test_it.py-test_merge/report.json").is_file()


def test_nothing_judged_is_a_failure(run):
    result = run(
        f"""
        from verify.museum.honest import reference_merge
        from verify.subjects import supports

        @supports(S="4096")
        def merge(*inputs):
            return reference_merge(*inputs)

        def test_merge(merge_gate):
            merge_gate(merge, {FEW})
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["NOTHING JUDGED *"])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], {"kernel": "a:b", "profile": "ci", "bounds": "fp32", "max_cases": 8, "family": "empties"}),
        (["--mla-profile=quick", "--mla-bounds=default"], {"profile": "quick", "bounds": "default"}),
        (
            ["--mla-seed=3", "--mla-device=cpu", "--mla-kernel=c:d"],
            {"seed": 3, "device": "cpu", "kernel": "a:b"},
        ),
    ],
)
def test_a_flag_beats_the_call_which_beats_the_nearest_marker(run, asked, options, wanted):
    run(ASK, *options).assert_outcomes(passed=1)
    (call,) = asked
    assert {name: call[name] for name in wanted} == wanted


def test_a_gate_that_names_no_kernel_takes_that_of_the_flag(run, asked):
    run("def test_merge(merge_gate): merge_gate()", "--mla-kernel=c:d").assert_outcomes(passed=1)
    assert asked[0]["kernel"] == "c:d"


def test_two_gates_of_one_test_keep_their_reports_apart(run, asked):
    source = "def test_merge(merge_gate):\n    merge_gate('a:b')\n    merge_gate('a:c')"
    run(source, "--mla-report=kept").assert_outcomes(passed=1)
    assert [str(call["out"]) for call in asked] == [
        "kept/test_it.py-test_merge",
        "kept/test_it.py-test_merge-2",
    ]


def test_gates_are_marked_so_that_they_can_be_chosen(run, asked):
    source = "def test_merge(merge_gate): merge_gate('a:b')\ndef test_other(): pass"
    run(source, "-m", "merge_gate").assert_outcomes(passed=1, deselected=1)
    assert len(asked) == 1
    run(source, "-m", "not merge_gate", "--strict-markers").assert_outcomes(passed=1, deselected=1)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("merge_gate('a:b', nosuch=1)", "merge_gate: no option 'nosuch'; it takes kernel, profile, *"),
        ("merge_gate('nosuch:thing', isolate='off')", "--kernel 'nosuch:thing': importing nosuch failed *"),
        (f"merge_gate('a:b', {FEW.replace('producer', 'nosuch')})", "--family: 'nosuch' is none of *"),
        ("merge_gate('a:b', bounds='nosuch.toml')", "--bounds: nosuch.toml is neither *"),
    ],
)
def test_a_mistake_fails_the_test_with_one_line(run, call, complaint):
    result = run(f"def test_merge(merge_gate): {call}", *(["--mla-device=cpu"]))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([complaint])
    assert "Traceback" not in result.stdout.str()
    assert "another exception" not in result.stdout.str()


@pytest.mark.parametrize(
    "option", ["--mla-profile=nosuch", "--mla-seed=-1", "--mla-device=tpu", "--mla-seed=x"]
)
def test_a_flag_that_is_none_ends_the_session(run, option):
    assert run("def test_it(): pass", option).ret == pytest.ExitCode.USAGE_ERROR


def test_another_device_than_the_required_one_fails_before_anything_runs(run, asked):
    source = "def test_merge(merge_gate): merge_gate('a:b')"
    result = run(source, "--mla-device=cpu", "--mla-require-device=H200")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["--require-device H200: this run would be on *"])
    assert not asked
    run(source, "--mla-device=cpu", "--mla-require-device=CPU").assert_outcomes(passed=1)


def test_the_environment_is_asked_where_no_flag_says(run, asked, monkeypatch):
    monkeypatch.setenv("MLA_VERIFY_REQUIRE_DEVICE", "H200")
    run("def test_merge(merge_gate): merge_gate('a:b')", "--mla-device=cpu").assert_outcomes(failed=1)


STUBS = """
import sys
from types import ModuleType

from reports.tests.examples import report


def check(kernel=None, *, out, workers):
    out.parent.mkdir(exist_ok=True)
    (out.parent / f"{kernel}.txt").write_text(str(workers))
    return report()


for name, contents in {
    "verify.testing.checking": {"check": check},
    "verify.cli.required": {"device_complaint": lambda *_: ""},
}.items():
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(contents)
"""


def outside(pytester, *options, before=()):
    """Run pytest in a process of its own, with some folders before the project's on the path."""
    path = os.pathsep.join(map(str, (*before, ROOT, os.environ.get("PYTHONPATH", ""))))
    variables = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}
    variables.pop("PYTEST_XDIST_WORKER_COUNT", None)
    command = [sys.executable, "-m", "pytest", *LOADED, "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, cwd=pytester.path, env=variables, capture_output=True, text=True, check=False, timeout=120
    )


def test_under_xdist_every_verdict_arrives_and_the_cores_are_shared(pytester):
    pytester.makeconftest(STUBS)
    pytester.makepyfile(
        "import pytest\n@pytest.mark.parametrize('name', 'abcd')\n"
        "def test_merge(merge_gate, name): merge_gate(name)"
    )
    done = outside(pytester, "-n", "2", "--mla-report=kept")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("]: PASS ") == 4
    cores = len(os.sched_getaffinity(0))
    shared = {file.stem: int(file.read_text()) for file in (pytester.path / "kept").glob("*.txt")}
    assert shared == dict.fromkeys("abcd", max(1, cores // 2))


TORCHLESS = """
import sys

def test_it():
    assert not {"torch", "numpy", "hypothesis.core", "triton", "rich"} & set(sys.modules)
"""


def test_loading_the_plugin_brings_nothing_heavy(pytester):
    pytester.makepyfile(TORCHLESS)
    done = outside(pytester, "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout


def test_that_test_notices_an_import(pytester):
    pytester.makepyfile(TORCHLESS)
    (pytester.path / "torch.py").touch()
    pytester.makeconftest("import torch")
    assert outside(pytester, "-p", "no:hypothesispytest").returncode == 1


def test_a_folder_that_hides_a_package_ends_the_gate_alone_and_in_one_line(pytester):
    (pytester.path / "reports").mkdir()
    (pytester.path / "reports" / "__init__.py").touch()
    pytester.makepyfile("def test_merge(merge_gate): merge_gate('a:b')\ndef test_other(): pass")
    done = outside(pytester, before=[pytester.path])
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "\nthe package 'reports' that Python finds is " in done.stdout


def test_the_project_names_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"mla-verify": "verify.testing.plugin"}
