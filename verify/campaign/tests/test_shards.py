"""Runs that share the cases, and runs of kernels that say what they support."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import verify.replay.__main__ as replay
from reports.__main__ import main as reports
from reports.serialize import from_json, read_report
from verify import fuzz

HONEST = "verify.museum.honest:reference_merge"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def report(folder="out"):
    return from_json((Path(folder) / "report.json").read_text())


def comparable(path):
    found = read_report(Path(path))
    totals = {name: value for name, value in found.totals.items() if not name.endswith("_s")}
    findings = [
        replace(finding, repro={**finding.repro, "file": "", "command": ""}) for finding in found.findings
    ]
    return totals, found.strata, found.coverage, found.oracle, findings


@pytest.mark.parametrize("kernel", [HONEST, "verify.museum.empties:no_guard"])
def test_all_shards_together_are_the_whole_run(kernel):
    options = ["--max-cases", "61", "--seed", "3", "--kernel", kernel, "-q", "--isolate", "off"]
    family = ["--family", "corpus,empties,ties,producer,seq_lens,neg_inf"]
    exits = {fuzz.main([*options, *family, "--out", "whole"])}
    for index in range(3):
        exits.add(fuzz.main([*options, *family, "--shard", f"{index}/3"]))
    parts = [f"out/shard-{index}-of-3/report.json" for index in range(3)]
    assert reports(["combine", *parts, "--out", "all"]) in exits
    assert comparable("all/report.json") == comparable("whole/report.json")


def test_a_launchers_rank_is_the_shard_unless_one_is_given(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(SystemExit):
        fuzz.main(["--show-config"])
    assert re.search(r"shard +1/4 +RANK, WORLD_SIZE", capsys.readouterr().out)
    assert (
        fuzz.main(["--max-cases", "2", "--family", "ties", "--kernel", HONEST, "-q", "--shard", "0/1"]) == 0
    )
    assert report().run["shard"] == "0/1"


DECLARED = (
    "from verify.subjects import supports\nfrom verify.museum.honest import Merge\nhonest = Merge()\n"
    "@supports({})\ndef merge(o, *rest):\n    assert {}\n    return honest(o, *rest)\n"
)


def test_what_a_kernel_does_not_declare_is_neither_a_finding_nor_a_pass(kernel):
    spec = kernel(DECLARED.format("S='1..16', dtypes='bfloat16,float32'", "o.shape[2] <= 16"))
    assert fuzz.main(["--profile", "smoke", "--kernel", spec, "-q"]) == 0
    totals = report().totals
    assert set(totals["unsupported"]) == {"S outside 1..16", "dtype outside bfloat16,float32"}
    assert totals["cases"] + sum(totals["unsupported"].values()) == totals["planned"]
    assert min(totals["unsupported"].values()) > 0


def test_a_kernel_that_supports_nothing_drawn_is_not_a_pass(kernel, capsys):
    spec = kernel(DECLARED.format("S='5000'", "False"))
    assert fuzz.main(["--max-cases", "9", "--kernel", spec, "-q"]) == 5
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOTHING JUDGED")
    assert replay.main(["0/0", "--kernel", spec]) == 5
    assert "UNSUPPORTED" in capsys.readouterr().out


def test_only_the_laws_that_are_asked_for_and_promised_are_checked(kernel):
    spec = kernel(DECLARED.format("laws='repeat,tail'", "True"))
    assert fuzz.main(["--max-cases", "60", "--kernel", spec, "-q", "--laws", "tail,shift"]) == 0
    assert set(report().totals["laws"]) == {"tail"}
    assert fuzz.main(["--max-cases", "20", "--kernel", spec, "-q", "--laws", "none"]) == 0
    assert report().totals["laws"] == {}


def test_a_merge_in_float32_is_told_of_the_bounds_that_it_keeps(capsys):
    options = [
        "--kernel",
        "verify.museum.sound:float32",
        "--family",
        "producer,ties",
        "--max-cases",
        "28",
        "-q",
    ]
    assert fuzz.main(options) == 1
    assert "run again with --bounds fp32" in capsys.readouterr().err
    assert fuzz.main([*options, "--bounds", "fp32"]) == 0
    assert report().bounds["path"] == "bounds/fp32.toml"
    assert "--bounds" not in capsys.readouterr().err
    assert fuzz.main(["--kernel", "verify.museum.scale:lse_in_base_two", *options[2:]]) == 1
    assert "--bounds fp32" not in capsys.readouterr().err


def test_a_broken_law_is_found_shrunk_and_replayed(capsys):
    spec = "verify.museum.order:every_second_call"
    assert fuzz.main(["--profile", "smoke", "--kernel", spec]) == 1
    out = capsys.readouterr().out
    assert "NONDETERMINISTIC" in out
    found = report().findings
    assert {finding.detector for finding in found} >= {"law repeat"}
    finding = next(finding for finding in found if finding.detector == "law repeat")
    assert "--laws repeat --law-seed" in finding.repro["command"]


def test_without_isolation_the_kernel_runs_in_this_process(kernel):
    marked = "import sys\nfrom verify.museum.honest import Merge\nsys.here = True\nmerge = Merge()\n"
    for isolate, here in (("on", False), ("off", True)):
        vars(sys).pop("here", None)
        assert fuzz.main(["--max-cases", "2", "--kernel", kernel(marked), "-q", "--isolate", isolate]) == 0
        assert hasattr(sys, "here") is here


def test_values_that_the_bounds_do_not_speak_of_are_not_judged(kernel, capsys):
    spec = kernel(
        "def merge(o, *rest):\n"
        "    return torch.full_like(o[:, :, 0], 7.0), torch.full_like(o[:, :, 0, 0], 7.0)\n"
    )
    options = ["--bounds", "fp32", "--family", "subnormals", "--dtype", "float32", "--laws", "none", "-q"]
    assert fuzz.main([*options, "--max-cases", "1", "--kernel", spec]) == 5
    assert capsys.readouterr().out.startswith("NOTHING JUDGED")
    assert sum(report().totals["out_of_domain"].values()) > 0


def test_processes_of_a_launcher_do_not_write_one_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert fuzz.main(["--json", str(tmp_path / "all.json"), "--out", str(tmp_path)]) == 2
    assert "every process of the launcher would write it" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.json"))
