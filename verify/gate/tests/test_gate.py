"""The gate runs a kernel: it turns red for what it promises to notice, names it, and turns green again."""

import re
import shlex
from datetime import date
from pathlib import Path

import pytest

import verify.gate.__main__ as gate
import verify.replay.__main__ as replay
from reports.serialize import from_json, read_report
from verify.gate.measured import read_measured
from verify.gate.tests.made import ROOT, RUN, TODAY, bounds_file, made, shown, waived, write_kernel
from verify.gate.tests.test_ratchet import PLAIN


def test_a_change_that_loosens_one_dtype_turns_the_gate_red_and_reverting_it_green(capsys):
    """From 0.501 to 0.6 ulp in bfloat16, with bounds so wide that no value fails: the record alone tells."""
    run = ["--kernel", "k.py:merge", "--bounds", bounds_file(0.75), *RUN]
    write_kernel(0)
    assert gate.main([*run, "--update-bounds"]) == 0
    assert {name: bound.ulp for name, bound in read_measured(Path("mine.toml")).items()} == {
        "float32": 0.501,
        "bfloat16": 0.501,
        "lse": 0.501,
    }
    Path("out/report.json").rename("baseline.json")
    capsys.readouterr()

    write_kernel(0.099)
    assert gate.main(run) == 1
    out, _ = shown(capsys)
    assert (
        from_json(Path("out/report.json").read_text()).run["exit_code"] == 0
    )  # the run itself found nothing
    said = re.search(
        r"producer bfloat16 output \(producer\): judged (0\.\d+) ulp, bound 0\.501: 0\.09\d+ too much", out
    )
    assert said, out
    assert 0.59 < float(said[1]) <= 0.6
    assert "float32" not in out
    assert "lse" not in out.partition("FAIL ")[2].partition("\nok")[0]
    assert out.splitlines()[-1].startswith("FAIL k.py:merge cases ")
    command = re.search(r"python -m (verify\.replay .*)", out)
    assert command
    assert replay.main([*shlex.split(command[1])[1:], "--isolate", "off"]) == 0  # its bounds are met
    assert "at    " in shown(capsys)[0]

    # Without what was measured the baseline tells the same, and the ratchet is of no help to the kernel.
    plain = ["out/report.json", "--min-outputs", "1000", "--bounds"]
    assert gate.main([*plain, "mine.toml", "--update-bounds"]) == 1
    assert read_measured(Path("mine.toml"))["bfloat16"].ulp == 0.501
    capsys.readouterr()
    assert gate.main([*plain, bounds_file(0.75), "--baseline", "baseline.json"]) == 1
    out, _ = shown(capsys)
    assert re.search(
        r"FAIL  baseline  1\n  producer bfloat16 output .*: judged 0\.59\d+ ulp, 0\.\d+ there", out
    )

    write_kernel(0)
    assert gate.main([*run, "--baseline", "baseline.json"]) == 0
    assert shown(capsys)[0].splitlines()[-1].startswith("PASS k.py:merge")


def test_under_the_default_bounds_the_finding_and_the_stratum_are_named(capsys):
    write_kernel(0.099)
    run = ["--kernel", "k.py:merge", *RUN, "--max-cases", "4"]
    assert gate.main(run) == 1
    out, _ = shown(capsys)
    assert re.search(r"FAIL  findings  \d+\n  WRONG_VALUE-\w{10} in output", out)
    assert re.search(r"FAIL  bounds    1\n  producer bfloat16 output .* bound 0\.501: .* values failed", out)
    assert len(out.splitlines()) < 25
    commands = re.findall(r"python -m (verify\.replay .*)", out)
    for command in (commands[0], commands[-1]):  # of a finding, and of the stratum's worst value
        assert replay.main([*shlex.split(command)[1:], "--isolate", "off"]) == 1
    capsys.readouterr()

    # Known, it fails no more, and its stratum is not held to what the fault makes of it.
    ids = [found.id for found in read_report(Path("out/report.json")).findings]
    Path("known.toml").write_text("".join(waived(name, "k.py:merge") for name in ids))
    assert gate.main([*run, "--ledger", "known.toml"], today=TODAY) == 0
    out, _ = shown(capsys)
    assert f"none that is new, {len(ids)} known" in out
    assert "https://example.org/1" in out
    assert re.search(r"fail 0 known [1-9]", out.splitlines()[-1])
    told = read_report(Path("out/report.json"))
    assert (told.run["exit_code"], told.totals["failed"]) == (0, 0)
    assert "PASS" in Path("out/summary.md").read_text().splitlines()[0]
    assert (
        gate.main(["out/report.json", "--ledger", "known.toml", "--min-outputs", "1"], today=date(2026, 6, 2))
        == 1
    )
    assert "was to be reviewed by 2026-06-01" in shown(capsys)[0]


@pytest.mark.parametrize(
    "variables",
    [
        {"MLA_VERIFY_SHARD": "0/2"},
        {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"},
        {"MLA_VERIFY_LIST": "1"},
        {"MLA_VERIFY_RESUME": "elsewhere"},
    ],
)
def test_no_verdict_of_an_earlier_run_is_taken_for_this_one(variables, capsys, monkeypatch):
    write_kernel(0.3)
    Path("out").mkdir()
    made("out/report.json")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code = gate.main(["--kernel", "k.py:merge", *RUN, "--max-cases", "4"])
    assert code == (2 if "MLA_VERIFY_LIST" in variables or "MLA_VERIFY_RESUME" in variables else 1)
    assert "PASS" not in shown(capsys)[0]


def test_the_readme_s_lines_work_as_they_are_written(monkeypatch, capsys):
    section = (ROOT / "README.md").read_text().partition("## As a gate")[2].partition("```sh\n")[2]
    lines = section.partition("```")[0].splitlines()
    # What the lines leave to the environment makes the run shorter, and nothing else.
    short = {"FAMILY": "producer", "DTYPE": "bfloat16", "MAX_CASES": "14", "LAWS": "none", "ISOLATE": "off"}
    for name, value in {**short, "MIN_OUTPUTS": "1000"}.items():
        monkeypatch.setenv(f"MLA_VERIFY_{name}", value)
    Path("my_kernels.py").write_text("from verify.museum.honest import reference_merge as merge\n")
    commands = [shlex.split(line, comments=True) for line in lines]
    assert [command[:3] for command in commands] == [["python", "-m", "verify.gate"]] * 2
    for command in commands:
        assert gate.main(command[3:]) == 0, shown(capsys)
    assert "ok    baseline" in shown(capsys)[0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nosuch.json"], "nosuch.json cannot be read (No such file"),
        (["r.json", "--baseline", "nosuch.json"], "nosuch.json cannot be read"),
        (["r.json", "--ledger", "nosuch.toml"], "--ledger: nosuch.toml cannot be read"),
        (["r.json", "--bounds", "nosuch.toml"], "--bounds: nosuch.toml"),
        (["r.json", "--bounds", "bad.toml"], "--bounds: bad.toml: [measured.lse]: ulp is missing"),
        (["r.json", "--seed", "3"], "--seed and r.json: that run was made already"),
        (["--kernel", "x", "r.json"], "--kernel and r.json: that run was made already"),
        (["r.json", "other.json"], "unrecognized arguments: other.json"),
        (["r.json", "--loosen", "because"], "--loosen REASON: wanted together with --update-bounds"),
        (["r.json", "--update-bounds", "--loosen", " "], "and a reason that says something"),
        (["r.json", "--min-outputs", "none"], "'none' is not a whole number from 1 up"),
        (["other.json"], "the report was judged by other bounds: constant is 20 there and 16 here"),
        (["r.json", "--baseline", "other.json"], "the baseline was judged by other bounds: constant is 20"),
        (["r.json", "--bounds", "fp32"], "the report was judged by other bounds"),
        (
            ["third.json", "--update-bounds"],
            "holds what was measured of mla_merge; copy it and name the copy",
        ),
    ],
)
def test_nonsense_is_one_line_and_exit_2(words, complaint, capsys):
    made()
    made("other.json", used={"constant": 20})
    made("third.json", subject={"name": "their.py:merge"})
    Path("bad.toml").write_text(f"[measured.lse]\nallowance = 'x'\n# {PLAIN}")
    assert gate.main(words) == 2
    out, error = shown(capsys)
    assert out == ""
    assert complaint in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("which", ["report", "baseline"])
def test_a_damaged_report_is_exit_3(which, capsys):
    Path("broken.json").write_text(Path(made()).read_text()[:400])
    assert gate.main(["broken.json"] if which == "report" else ["r.json", "--baseline", "broken.json"]) == 3
    assert "broken.json: not a report" in shown(capsys)[1]


def test_the_report_may_stand_anywhere_in_the_command():
    made()
    made("b.json")
    for words in (
        ["r.json", "--baseline", "b.json", "-q"],
        ["--baseline", "b.json", "r.json", "-q"],
        ["-q", "r.json", "--baseline=b.json"],
        ["--min-outputs", "1", "-q", "r.json"],
    ):
        assert gate.main(words) == 0


def test_a_kernel_that_cannot_be_run_is_the_runs_own_complaint(capsys):
    assert gate.main(["--kernel", "nosuch:thing", *RUN]) == 2
    out, error = shown(capsys)
    assert out == ""
    assert "importing nosuch failed" in error


def test_a_device_that_is_not_there_is_said_before_anything_runs(capsys):
    write_kernel(0)
    assert gate.main(["--kernel", "k.py:merge", *RUN, "--device", "cpu", "--require-device", "H200"]) == 2
    assert "--require-device H200" in shown(capsys)[1]
    assert not Path("out/report.json").exists()
