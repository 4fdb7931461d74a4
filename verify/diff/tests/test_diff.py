"""`python -m verify.diff`: of two reports, and of two revisions of a kernel in a repository of its own."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import verify.diff.__main__ as diff
from reports.render import missing_for_html
from reports.serialize import read_report, to_json
from reports.tests.examples import finding, report
from verify.cli.config import UsageError
from verify.diff import revision

KERNEL = """
import torch
from verify.museum.honest import reference_merge

def merge(*inputs):
    output, lse = reference_merge(*inputs)
    return output, lse * FACTOR
"""
FEW = [
    "--max-cases=2",
    "--family=producer",
    "--dtype=bfloat16",
    "--laws=none",
    "--isolate=off",
    "--device=cpu",
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(diff, "missing_for_html", lambda: "the page takes seconds")


def git(*words, folder="."):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """Make a repository with a kernel that is right at its first commit and wrong at its second."""
    top = tmp_path / "kernels"
    package = top / "src" / "some_kernels"
    package.mkdir(parents=True)
    git("init", "-q", folder=top)
    for factor in ("1", "(1 + 2**-20)"):
        (package / "__init__.py").write_text(KERNEL.replace("FACTOR", factor))
        git("add", ".", folder=top)
        git("commit", "-qm", factor, folder=top)
    return top


def at(place, name):
    commit = revision.commit_of(place, name)
    assert commit is not None
    return revision.Revision(place=place, commit=commit)


def stored(name, one):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(to_json(one))
    return name


def changed(one, **changes):
    """Return the report with its first stratum of outputs changed."""
    first = next(stratum for stratum in one.strata if stratum.key.result == "output")
    strata = [replace(s, **changes) if s is first else s for s in one.strata]
    return first, replace(one, strata=tuple(strata))


def test_a_report_is_the_same_as_itself(capsys):
    file = stored("a/report.json", report())
    assert diff.main([file, "a"]) == 0
    out = capsys.readouterr().out
    assert "No stratum is worse." in out
    assert out.splitlines()[-1].startswith("SAME mla_merge strata ")
    assert Path("out/diff/diff.md").read_text() in out
    assert "note:" not in out


@pytest.mark.skipif(bool(missing_for_html()), reason=missing_for_html() or "the page can be drawn")
def test_the_page_shows_what_changed(monkeypatch):
    monkeypatch.setattr(diff, "missing_for_html", missing_for_html)
    first, after = changed(report(), judged_ulp=0.7, max_ulp=0.7)
    diff.main([stored("a.json", report()), stored("b.json", after)])
    page = Path("out/diff/report.html").read_text()
    assert "What changed" in page
    assert first.key.family in page


def test_a_stratum_that_got_worse_is_named_and_fails(capsys):
    first, after = changed(report(), judged_ulp=0.7, max_ulp=0.7)
    sides = [stored("a.json", report()), stored("b.json", after)]
    assert diff.main(sides) == 1
    out = capsys.readouterr().out
    assert f"- {first.key.family} {first.key.dtype} output ({first.key.domain}): judged 0.7 ulp" in out
    assert re.search(rf"\| {' '.join(first.key)} \| [\d.]+ → 0\.7 \|", out)
    assert "WORSE mla_merge" in out.splitlines()[-1]
    assert diff.main(sides[::-1]) == 0


def test_what_vanished_is_worse(capsys):
    before = report()
    after = replace(before, strata=before.strata[1:])
    assert diff.main([stored("a.json", before), stored("b.json", after)]) == 1
    assert "vanished" in capsys.readouterr().out
    assert diff.main(["b.json", "a.json"]) == 0


def test_a_new_finding_is_worse_and_one_that_is_gone_better(capsys):
    before = report()
    after = replace(before, findings=(finding(),))
    assert diff.main([stored("a.json", before), stored("b.json", after)]) == 1
    out = capsys.readouterr().out
    assert "## New findings (1)" in out
    assert after.findings[0].id in out
    assert diff.main(["b.json", "a.json"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("BETTER ")


def test_what_else_differs_is_said(capsys):
    before = report()
    after = replace(
        before,
        run={**before.run, "seed": 99},
        environment={**before.environment, "device": "another"},
        bounds={**before.bounds, "sha256": "0" * 64},
    )
    assert diff.main([stored("a.json", before), stored("b.json", after)]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("> note:")]
    assert len(notes) == 3
    assert "and 99" in notes[0]
    assert "margins cannot be compared" in notes[2]


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        (["a.json"], 2, "1 of two sides"),
        (["a.json", "a.json", "a.json"], 2, "3 of two sides"),
        (["a.json", "a.json", "--seed=1"], 2, "--seed: both runs were made already"),
        (["a.json", "a.json", "--seed", "1"], 2, "--seed: both runs were made already"),
        (["a.json", "a.json", "--nosuch"], 2, "unrecognized arguments"),
        (["a.json", "nosuch"], 2, "nosuch is neither a report nor"),
        (["a.json", "HEAD", "--kernel=nosuch:f"], 2, "no package or module nosuch"),
        (["a.json", "HEAD", "--kernel=nosuch.py:f"], 2, "no file"),
        (["a.json", "HEAD", "--kernel=nosuch"], 2, "wanted pkg.mod:function"),
        (["a.json", "HEAD", "--kernel=alone.py:f"], 2, "is in no git repository"),
        (["a.json", "broken.json"], 3, "not a report"),
    ],
)
def test_a_mistake_is_one_line(argv, code, complaint, capsys):
    stored("a.json", report())
    Path("broken.json").write_text(Path("a.json").read_text()[:200])
    Path("alone.py").touch()
    assert diff.main(argv) == code
    assert complaint in capsys.readouterr().err.splitlines()[0]


def test_two_revisions_of_a_file_are_run_and_compared(repository, capsys, monkeypatch):
    monkeypatch.chdir(repository)
    kernel = "--kernel=src/some_kernels/__init__.py:merge"
    assert diff.main(["HEAD~1", "HEAD", kernel, *FEW, "--out=kept"]) == 1
    out = capsys.readouterr().out
    assert "WORSE" in out.splitlines()[-1]
    first, second = sorted(Path("kept").glob("[AB]-*"))
    before, after = (read_report(folder / "report.json") for folder in (first, second))
    assert (before.run["exit_code"], after.run["exit_code"]) == (0, 1)
    assert before.subject["source_sha256"] != after.subject["source_sha256"]
    # The files of the run are gone: what is left names those of the working tree.
    assert before.subject["import_path"] == f"{repository}/src/some_kernels/__init__.py:merge"
    assert "mla-verify-" not in json.dumps([finding.repro for finding in after.findings])
    assert git("status", "--porcelain", folder=repository) == "?? kept/"


def test_a_package_is_found_at_its_revision(repository, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(repository / "src"))
    place = revision.place_of("some_kernels:merge")
    assert (place.repository, place.search, place.module) == (repository, Path("src"), "some_kernels")
    there = revision.check_out(at(place, "HEAD~1"), tmp_path / "tree")
    assert there.kernel == "some_kernels:merge"
    assert there.search == (tmp_path / "tree" / "src", Path(revision.__file__).resolve().parents[2])
    assert "lse * 1\n" in (there.search[0] / "some_kernels" / "__init__.py").read_text()


def test_a_revision_without_the_kernel_is_one_line(repository, tmp_path):
    git("mv", "src/some_kernels", "src/renamed", folder=repository)
    git("commit", "-qm", "moved", folder=repository)
    place = revision.place_of(f"{repository}/src/renamed/__init__.py:merge")
    old = at(place, "HEAD~1")
    with pytest.raises(UsageError, match=r"holds no src/renamed/__init__\.py"):
        revision.check_out(old, tmp_path / "tree")


@pytest.mark.parametrize("name", ["nosuch", "-q", "--all", "HEAD:src"])
def test_what_names_no_commit_is_none(repository, name):
    place = revision.place_of(f"{repository}/src/some_kernels/__init__.py:merge")
    assert revision.commit_of(place, name) is None


def test_this_suite_judges_its_own_kernel_at_any_revision(tmp_path, monkeypatch):
    # A repository that holds a kernel and the suite, as this one does, with another suite at its revision.
    top = tmp_path / "project"
    for package in ("mla_merge", "verify", "fuzz", "reports"):
        (top / package).mkdir(parents=True)
        (top / package / "__init__.py").write_text("old = True\n")
    git("init", "-q", folder=top)
    git("add", ".", folder=top)
    git("commit", "-qm", "old", folder=top)
    (top / "verify" / "__init__.py").write_text("old = False\n")
    monkeypatch.setattr(revision, "_ROOT", top)
    place = revision.place_of(f"{top}/mla_merge/__init__.py:merge")
    place = replace(place, search=Path(), module="mla_merge")
    there = revision.check_out(at(place, "HEAD"), tmp_path / "tree")
    assert there.search == (tmp_path / "tree",)
    assert (tmp_path / "tree" / "verify" / "__init__.py").read_text() == "old = False\n"
    assert (tmp_path / "tree" / "mla_merge" / "__init__.py").read_text() == "old = True\n"
