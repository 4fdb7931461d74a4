"""`python -m reports`, as a user calls it."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from reports.__main__ import main
from reports.serialize import from_json, read_report, to_json
from reports.tests import examples
from reports.tests.model import case, shard_reports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shards(tmp_path):
    """Write the reports of two shards and return their files."""
    files = []
    for index, report in enumerate(shard_reports([case(2, n) for n in range(40)], 2, seed=2)):
        files.append(tmp_path / f"shard-{index}" / "report.json")
        files[-1].parent.mkdir()
        files[-1].write_text(to_json(replace(report, notes=(f"note {index}",))))
    return files


def test_combining_writes_both_files_and_ends_with_the_verdict(shards, tmp_path, capsys):
    out = tmp_path / "all"
    assert main(["combine", *map(str, shards), "--out", str(out)]) == 1
    said = capsys.readouterr()
    whole = read_report(out / "report.json")
    assert said.out.splitlines()[-1].startswith("FAIL mla_merge cases ")
    assert (out / "summary.md").read_text().startswith("# FAIL mla_merge cases ")
    assert whole.run["shard"] == "0..1/2"
    assert "note: shard 1/2: note 1" in said.err
    assert whole.totals["planned"] == 40


def test_the_exit_code_is_that_of_the_verdict(tmp_path):
    for code, status in ((0, "judged"), (5, "nothing judged"), (130, "interrupted")):
        plain = examples.report()
        file = tmp_path / f"{code}.json"
        file.write_text(to_json(replace(plain, run={**plain.run, "exit_code": code, "status": status})))
        assert main(["combine", str(file), "--out", str(tmp_path / "all")]) == code
    assert main(["render", str(file)]) == 0


def test_a_missing_shard_is_a_mistake_that_partial_allows(shards, tmp_path, capsys):
    given = ["combine", str(shards[0]), "--out", str(tmp_path / "all")]
    assert main(given) == 2
    assert capsys.readouterr().err == "error: shard 1/2 is missing\n"
    assert not (tmp_path / "all").exists()
    assert main([*given, "--partial"]) == 1
    assert "partial: shard 1/2 is missing" in capsys.readouterr().err


def test_rendering_writes_all_forms_beside_the_report(shards, capsys):
    assert main(["render", str(shards[1])]) == 0
    folder = shards[1].parent
    assert (folder / "summary.md").read_text().startswith("# FAIL mla_merge ")
    assert ET.parse(folder / "junit.xml").getroot().tag == "testsuites"
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("FAIL mla_merge ")
    assert all(name in said[0] for name in ("summary.md", "junit.xml", "report.html"))


def test_rendering_with_a_baseline_shows_what_changed(shards, tmp_path, capsys):
    out = tmp_path / "elsewhere"
    given = ["render", str(shards[1]), "--baseline", str(shards[0]), "--out", str(out)]
    assert main(given) == 0
    assert "## What changed against the baseline" in (out / "summary.md").read_text()
    assert 'id="plot-change"' in (out / "report.html").read_text()
    assert not (shards[1].parent / "report.html").exists()
    shards[0].write_text("{")
    assert main(given) == 3
    assert f"error: {shards[0]}: not a report" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required"),
        (["combine"], "required"),
        (["render"], "required"),
        (["draw", "x"], "invalid choice"),
        (["combine", "x", "--ou", "y"], "unrecognized"),
        (["combine", "nosuch.json"], "error: nosuch.json: No such file"),
        (["render", "."], "error: .: Is a directory"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stopped:
        sys.exit(main(arguments))
    said = capsys.readouterr()
    assert (stopped.value.code, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_a_damaged_report_is_one_line_and_exit_3(shards, tmp_path, capsys):
    whole = shards[1].read_bytes()
    for content in (b"", b"\xff", b"[" * 100_000, whole[:-4], whole.replace(b'"seed": 2', b'"seed": NaN')):
        shards[1].write_bytes(content)
        for arguments in (["combine", *map(str, shards), "--out", str(tmp_path)], ["render", str(shards[1])]):
            assert main(arguments) == 3
            said = capsys.readouterr()
            assert said.err.startswith(f"error: {shards[1]}: ")
            assert said.err.count("\n") == 1


def test_a_report_is_never_replaced_by_its_combination(shards, capsys):
    before = shards[0].read_bytes()
    assert main(["combine", *map(str, shards), "--out", str(shards[0].parent)]) == 2
    assert "is one of the reports" in capsys.readouterr().err
    assert shards[0].read_bytes() == before


def test_a_folder_that_cannot_be_written_is_one_line(shards, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["combine", *map(str, shards), "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
from reports.__main__ import main
sys.exit(main())
"""


def blocked(*names, arguments):
    code = BLOCKED.format(blocked=names)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_commands_work_without_torch_and_without_the_other_packages(shards, tmp_path):
    others = ("torch", "triton", "numpy", "mpmath", "hypothesis", "safetensors", "rich")
    ours = ("verify", "fuzz", "mla_merge")
    arguments = ["combine", *map(str, shards), "--out", str(tmp_path / "all")]
    done = blocked(*others, *ours, arguments=arguments)
    assert (done.returncode, done.stdout.count("\n")) == (1, 2), done.stderr
    assert not (tmp_path / "all" / "report.html").exists()
    without_numpy = (name for name in others if name != "numpy")  # matplotlib's
    drawn = blocked(*without_numpy, *ours, arguments=["render", str(shards[0])])
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert (shards[0].parent / "report.html").exists()
    refused = blocked("json", arguments=arguments)  # the blocker blocks
    assert "json is blocked" in refused.stderr


@pytest.mark.parametrize("name", ["jinja2", "matplotlib", "numpy"])
def test_without_what_the_page_needs_everything_else_is_written(name, shards):
    done = blocked(name, arguments=["render", str(shards[0])])
    assert done.returncode == 0
    assert done.stderr.startswith("note: the HTML page needs jinja2 and matplotlib (")
    assert (name in done.stderr, done.stderr.count("\n")) == (True, 1)
    assert (shards[0].parent / "junit.xml").exists()
    assert (shards[0].parent / "summary.md").exists()
    assert not (shards[0].parent / "report.html").exists()


def test_text_that_the_terminal_does_not_know_does_not_cost_the_verdict(tmp_path):
    plain = examples.report()
    file = tmp_path / "report.json"
    file.write_text(to_json(replace(plain, subject={**plain.subject, "name": "k\ud800\u2264"})))
    done = subprocess.run(
        [sys.executable, "-m", "reports", "render", str(file)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"PASS k\\ud800\\u2264 cases" in done.stdout


def test_a_reader_that_left_does_not_change_the_exit_code(shards, tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "reports", "combine", *map(str, shards), "--out", str(tmp_path / "all")]
    done = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert json.loads((tmp_path / "all" / "report.json").read_text())["run"]["shard"] == "0..1/2"
    assert from_json((tmp_path / "all" / "report.json").read_text()).totals["planned"] == 40
