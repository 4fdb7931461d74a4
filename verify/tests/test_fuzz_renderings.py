"""The forms of the report that `verify.fuzz` writes when it is asked to."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from verify import fuzz
from verify.cli import targets

SHORT = ["--max-cases", "2", "--laws", "none", "--dtype", "float32", "--workers", "1", "--isolate", "off"]
HONEST = "verify.museum.honest:reference_merge"
WRONG = """import torch
def merge(o, m, s, lengths, tile, dtype):
    return torch.full(o[:, :, 0].shape, 7.0, dtype=dtype), torch.full(m[..., 0].shape, 7.0)
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def test_the_page_and_the_xml_are_written_and_the_verdict_is_last(capsys):
    asked = ["--html", "deep/page.html", "--junit", "deep/junit.xml"]
    assert fuzz.main([*SHORT, "--kernel", HONEST, *asked]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1].startswith("PASS ")
    assert "::" not in said.err
    page = Path("deep/page.html").read_text()
    assert 'id="plot-heat-output"' in page
    assert f"<h1>PASS {HONEST}</h1>" in page
    assert ET.parse("deep/junit.xml").getroot().get("failures") == "0"
    # The same run without them gives the same report, and no such files.
    assert fuzz.main([*SHORT, "--kernel", HONEST, "--out", "plain"]) == 0
    assert not list(Path("plain").glob("**/*.html"))


def test_inside_a_workflow_the_run_speaks_to_github(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("wrong.py").write_text(WRONG)
    failing = [*SHORT, "--kernel", "wrong.py:merge"]
    assert fuzz.main([*failing, "--github", "off"]) == 1
    assert "::error" not in capsys.readouterr().err
    assert not Path("summary.md").exists()
    assert fuzz.main(failing) == 1
    said = capsys.readouterr()
    assert 0 < sum(line.startswith("::error title=") for line in said.err.splitlines()) <= 10
    assert "::error" not in said.out
    assert Path("summary.md").read_text().startswith("# FAIL ")


@pytest.mark.parametrize("flag", ["--html", "--junit"])
def test_a_file_that_cannot_be_written_is_said_before_the_run(flag, capsys):
    Path("folder").mkdir()
    Path("file").touch()
    for value, complaint in (("folder", "wanted the name of a file"), ("file/x", "cannot write there")):
        assert fuzz.main([*SHORT, flag, value]) == 2
        assert complaint in capsys.readouterr().err
    assert not Path("out/report.json").exists()


def test_a_page_that_cannot_be_drawn_is_said_before_the_run(capsys, monkeypatch):
    monkeypatch.setattr(targets, "missing_for_html", lambda: "the HTML page needs jinja2")
    assert fuzz.main([*SHORT, "--html", "page.html"]) == 2
    assert capsys.readouterr().err == "error: --html: the HTML page needs jinja2\n"
    assert not Path("out/report.json").exists()
