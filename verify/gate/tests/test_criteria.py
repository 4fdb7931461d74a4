"""The gate takes a report: each criterion, alone."""

from pathlib import Path

import pytest

import verify.gate.__main__ as gate
from reports.serialize import read_report
from reports.tests.examples import finding, stratum
from verify.gate.criteria import CHECKS
from verify.gate.tests.made import gated, made, shown


def test_a_good_report_passes_and_says_what_was_asked(capsys):
    code, failed, out = gated(capsys, made(), "--baseline", made("b.json"), "--require-device", "CPU")
    assert (code, failed) == (0, set())
    assert [line.split()[1] for line in out.splitlines() if line.startswith("ok ")] == list(CHECKS)
    assert "ledger    not asked for" in out
    assert out.splitlines()[-1].startswith("PASS mla_merge cases")


def test_what_it_says_is_in_every_rendering(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    word = "ties float32 output (stress): judged 0.52 ulp, bound 0.501: 0.019 too much"
    bad = made(strata=(stratum(judged_ulp=0.52), stratum(result="lse")))
    asked = ["--html", "page.html", "--junit", "junit.xml", "--github", "on"]
    code, _, out = gated(capsys, bad, *asked, "--baseline", made("b.json"))
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("::error")]
    assert f"gate, bounds: {word}" in line
    summary = Path("step.md").read_text()
    assert summary.startswith("# FAIL mla_merge")
    assert f"> note: gate, bounds: {word}" in summary
    assert word in Path("junit.xml").read_text()
    assert "What changed against the baseline" in summary
    assert word in Path("page.html").read_text()
    assert "changed" in Path("page.html").read_text()
    assert read_report(Path(bad)).run["exit_code"] == 0  # that run's verdict is its own

    code, _, out = gated(capsys, made(), *asked)
    assert (code, "::error" in out, "gate, " in Path("page.html").read_text()) == (0, False, False)


def test_a_file_that_cannot_be_written_is_refused_before_the_run(capsys):
    Path("folder").mkdir()
    for flag in ("--html", "--junit"):
        code, _, out = gated(capsys, made(), flag, "folder")
        assert code == 2
        assert f"{flag} 'folder': wanted the name of a file" in out


def test_a_baseline_is_of_the_same_kernel_and_what_else_differs_is_said(capsys):
    other = made("b.json", subject={"name": "other.py:merge"})
    code, _, out = gated(capsys, made(), "--baseline", other)
    assert code == 2
    assert "--baseline is of other.py:merge, the report of mla_merge" in out
    other = made("b.json", run={"profile": "nightly"}, environment={"device": "Some GPU"})
    code, _, out = gated(capsys, made(), "--baseline", other)
    assert code == 0
    assert "note  baseline: the profile differs: nightly and" in out
    assert "note  baseline: the device differs: Some GPU and" in out


def test_a_report_is_named_by_its_run_s_folder_too(capsys):
    Path("run").mkdir()
    made("run/report.json")
    assert gated(capsys, "run", "--baseline", "run")[0] == 0
    assert gated(capsys, "--", "run")[0] == 0
    assert gated(capsys, "nowhere")[0] == 2


def test_the_verdict_alone_when_quiet(capsys):
    assert gate.main([made(), "-q", "--min-outputs", "3000000"]) == 1
    (line,) = shown(capsys)[0].splitlines()
    assert line.startswith("FAIL mla_merge")


@pytest.mark.parametrize(
    ("changes", "words", "check", "said"),
    [
        (
            {"strata": (stratum(judged_ulp=0.52), stratum(result="lse"))},
            [],
            "bounds",
            "ties float32 output (stress): judged 0.52 ulp, bound 0.501: 0.019 too much",
        ),
        (
            {"strata": (stratum(), stratum(result="lse", judged_ulp=float("inf")))},
            [],
            "bounds",
            "ties float32 lse (stress): judged inf ulp",
        ),
        (
            {"findings": (finding(),), "totals": {"failed": 3}, "run": {"exit_code": 1}},
            [],
            "findings",
            "SPURIOUS_NAN-0123456789 in output, 3 cases: output is nan where 0.0 is right",
        ),
        (
            {"findings": (finding(ulp=0.7, bound=0.501),), "totals": {"failed": 3}, "run": {"exit_code": 1}},
            [],
            "findings",
            "(0.7 ulp, bound 0.501)",
        ),
        ({"totals": {"failed": 2}, "run": {"exit_code": 1}}, [], "findings", "2 cases failed without"),
        ({"totals": {"outputs": 999_999}}, [], "outputs", "999999 were judged, 1000000 are wanted at least"),
        ({"totals": {"outputs": 9}}, ["--min-outputs", "10"], "outputs", "9 were judged, 10 are wanted"),
        (
            {"run": {"dtypes": ["float32", "float16"]}},
            [],
            "outputs",
            "float16: nothing was judged, and default has a measured bound for it",
        ),
        (
            {"environment": {"device": "Some GPU"}, "run": {"mode": "device"}},
            ["--require-device", "H200"],
            "device",
            "it ran on Some GPU (device), H200 is required",
        ),
        ({}, ["--require-device", "cuda"], "device", "it ran on cpu (interpret), cuda is required"),
        (
            {"environment": {"device": "Some H200 / Some GPU"}, "run": {"mode": "device"}},
            ["--require-device", "h200"],
            "device",
            "it ran on Some GPU (device)",
        ),
        ({"run": {"stopped_by": "lost processes"}}, [], "run", "stopped by lost processes"),
        ({"oracle": {"certified_fraction": 0.5}}, [], "run", "certified 50.0000%"),
    ],
)
def test_each_thing_that_is_amiss_is_named(changes, words, check, said, capsys):
    code, failed, out = gated(capsys, made(**changes), *words)
    assert (code, failed) == (1, {check})
    assert said in out
    assert out.splitlines()[-1].startswith("FAIL mla_merge")


def test_what_was_no_verdict_is_none_here():
    for status, code in (("interrupted", 130), ("nothing judged", 5)):
        assert gate.main([made(run={"status": status, "exit_code": code})]) == code
    assert gate.main([made(run={"exit_code": 3})]) == 3


def test_many_complaints_fit_a_screen(capsys):
    strata = tuple(stratum(family=f"family {i}", judged_ulp=0.6 + i / 1000) for i in range(50))
    found = tuple(finding(id=f"CRASH-{i:010x}", message="x" * 10_000) for i in range(50))
    base = made("b.json", strata=tuple(stratum(family=f"lost {i}") for i in range(50)))
    words = ["--baseline", base, "--require-device", "cuda"]
    wrong = {"totals": {"failed": 50, "outputs": 1}, "run": {"exit_code": 1}}
    code, failed, out = gated(capsys, made(strata=strata, findings=found, **wrong), *words)
    assert (code, failed) == (1, {"findings", "bounds", "baseline", "outputs", "device"})
    assert len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) < 300
    assert "family 49" in out  # the worst comes first
    assert "and 47 more" in out
