"""The gate turns red for each thing that it promises to notice, names it, and turns green again."""

import re
import shlex
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import verify.gate.__main__ as gate
import verify.replay.__main__ as replay
from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.serialize import from_json, read_report, to_json
from reports.tests.examples import finding, report, stratum
from verify.bounds import DEFAULT_BOUNDS, load_bounds
from verify.gate.criteria import CHECKS
from verify.gate.measured import read_measured
from verify.gate.tests.test_ratchet import PLAIN
from verify.laws import LAWS

TODAY = date(2026, 6, 1)
ROOT = Path(gate.__file__).resolve().parents[2]

MERGE = """
from verify.museum.honest import Merge


class Shifted(Merge):
    def rounded(self, y, fmt):
        self.shift = SHIFT if fmt.name == "bfloat16" else 0.0
        return super().rounded(y, fmt)

    def nearest(self, quanta):
        return (quanta + self.shift).round()


def merge(*inputs):
    return Shifted()(*inputs)
"""
RUN = ["--family", "producer", "--dtype", "bfloat16,float32", "--max-cases", "14", "--laws", "none"]
RUN += ["--workers", "1", "--min-outputs", "1000", "--isolate", "off"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_kernel(shift):
    """Write the kernel whose bfloat16 outputs are off by half an ulp and this much more."""
    Path("k.py").write_text(MERGE.replace("SHIFT", str(shift)))


def bounds_file(ulp):
    """A file of bounds with another first term and nothing measured."""
    file = Path("mine.toml")
    file.write_text("# " + PLAIN.replace("ulp = 0.501", f"ulp = {ulp}"))
    return str(file)


def waived(name, kernel):
    """An entry of a ledger, to be reviewed today."""
    return (
        f'[[known]]\nid = "{name}"\nkernel = "{kernel}"\nissue = "https://example.org/1"\n'
        f'review = {TODAY}\nreason = "it is being mended"\n'
    )


def shown(capsys):
    out, error = capsys.readouterr()
    return out, error


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


# From here on no kernel runs: what is judged is a report.

WHOLE = {
    "families": ["corpus", *DRAWN, "hunt"],
    "dtypes": ["float32"],
    "laws": list(LAWS),
    "config": {"kernel": {"value": "k.py:merge", "source": "--kernel"}},
}
USED = {
    "name": "default",
    "ulp": 0.501,
    "unit_roundoff_log2": -53,
    "per_segment": 1,
    "constant": 16,
    "per_exponent": 1,
}


def made(name="r.json", **changes):
    """Write a report of a run that passes but for these changes, and return the file's name."""
    plain = report()
    parts = {
        "run": {**plain.run, **WHOLE, **changes.pop("run", {})},
        "totals": {**plain.totals, "outputs": 2_000_000, "outputs_per_s": 1.0, **changes.pop("totals", {})},
        "bounds": {**plain.bounds, "used": {**USED, **changes.pop("used", {})}},
        "environment": {**plain.environment, **changes.pop("environment", {})},
        "oracle": {**plain.oracle, **changes.pop("oracle", {})},
        "subject": {**plain.subject, **changes.pop("subject", {})},
        **changes,
    }
    Path(name).write_text(to_json(replace(plain, **parts)))
    return name


def gated(capsys, *words):
    """Return the exit code, the lines of each criterion that failed, and all that was shown."""
    code = gate.main([*words], today=TODAY)
    out, error = shown(capsys)
    failed = {line.split()[1] for line in out.splitlines() if line.startswith("FAIL  ")}
    return code, failed, out + error


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


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"judged_ulp": 0.5}, ""),
        ({"judged_ulp": 0.2}, {"judged_ulp": 0.5}, ""),  # what correct rounding may always cost
        ({"judged_ulp": 0.2}, {"judged_ulp": 0.509}, ""),
        ({"judged_ulp": 0.2}, {"judged_ulp": 0.52}, "judged 0.52 ulp, 0.2 there: 0.02 more, 0.01 is allowed"),
        ({"judged_ulp": 0.6}, {"judged_ulp": 0.609}, ""),
        ({"judged_ulp": 0.6}, {"judged_ulp": 0.62}, "judged 0.62 ulp, 0.6 there"),
        ({"judged_ulp": 0.6}, {"judged_ulp": 0.5}, ""),
        ({"margin": 0.4}, {"margin": 0.9}, ""),  # no value is off by more than half an ulp
        ({"margin": 0.4}, {"margin": 0.49, "max_ulp": 3.0}, ""),
        ({"margin": 0.4}, {"margin": 0.6, "max_ulp": 3.0}, "margin 0.6, 0.4 there: 0.2 more, 0.1 is allowed"),
        ({"margin": 0.9}, {"margin": 0.2, "max_ulp": 3.0}, ""),
    ],
)
def test_a_stratum_may_be_worse_than_the_baseline_by_its_allowance(before, after, said, capsys):
    wide = ["--bounds", bounds_file(0.75)]
    base = made("b.json", strata=(stratum(**before),), used={"ulp": 0.75})
    code, failed, out = gated(capsys, made(strata=(stratum(**after),)), *wide, "--baseline", base)
    assert (code, failed) == ((1, {"baseline"}) if said else (0, set()))
    assert said in out
    # The allowance is the bound's where it has one.
    file = Path("mine.toml")
    rows = DEFAULT_BOUNDS.read_text().partition("\n\n")[0].replace("allowance = 0.01", "allowance = 9")
    file.write_text(rows.replace("ulp = 0.501", "ulp = 0.75") + "\n\n" + file.read_text())
    code, *_ = gated(capsys, "r.json", *wide, "--baseline", base)
    assert code == (1 if said.startswith("margin") and after["max_ulp"] > 9.5 else 0)


def test_a_stratum_that_vanished_is_named(capsys):
    base = made("b.json", strata=(stratum(), stratum(family="empties"), stratum(result="lse")))
    code, failed, out = gated(capsys, made(), "--baseline", base)
    assert (code, failed) == (1, {"baseline"})
    assert "empties float32 output (stress) vanished: 11 values there, none here" in out


def test_a_stratum_of_the_hunt_may_vanish_and_a_new_one_come(capsys):
    base = made("b.json", strata=(stratum(), stratum(family="hunt"), stratum(result="lse")))
    with_more = made(strata=(stratum(), stratum(family="empties"), stratum(result="lse")))
    assert gated(capsys, with_more, "--baseline", base)[:2] == (0, set())


def test_half_the_outputs_of_the_baseline_are_wanted(capsys):
    for outputs, code in ((4_000_000, 0), (4_000_001, 1)):
        base = made("b.json", totals={"outputs": outputs})
        assert gated(capsys, made(), "--baseline", base)[0] == code


def test_a_known_fault_spoils_no_stratum_and_a_new_one_in_another_is_seen(capsys):
    name = "WRONG_VALUE-abcdef0123"
    Path("known.toml").write_text(waived(name, "mla_merge"))
    group = {"group": "WRONG_VALUE/output//ties", "first": 1, "cases": 3, "case": "0/1"}
    known = finding(id=name, kind="WRONG_VALUE", groups=(group,))
    bad = stratum(judged_ulp=1e9, failed=4)
    wrong = {"totals": {"failed": 3}, "run": {"exit_code": 1, "dtypes": list(FORMATS)}}
    others = [stratum(dtype=dtype) for dtype in FORMATS if dtype != "float32"]
    lse = stratum(result="lse")
    one = made(findings=(known,), strata=(bad, lse, *others), **wrong)
    words = ["--ledger", "known.toml"]
    assert gated(capsys, one, *words, "--baseline", made("b.json"))[:2] == (0, set())
    two = made(findings=(known,), strata=(bad, replace(lse, judged_ulp=0.7), *others), **wrong)
    assert gated(capsys, two, *words)[:2] == (1, {"bounds"})
    # A fault that is not known makes its own family's strata the gate's business again.
    fresh = finding(groups=({**group, "group": "SPURIOUS_NAN/output//ties"},), similar=3)
    three = made(findings=(known, fresh), strata=(bad, lse, *others), **wrong)
    assert gated(capsys, three, *words)[:2] == (1, {"findings", "bounds"})
    stale = made(strata=(stratum(), lse, *others), run={"dtypes": list(FORMATS)})
    code, failed, out = gated(capsys, stale, *words)
    assert (code, failed) == (1, {"ledger"})
    assert f"{name} (https://example.org/1) matches no finding any more" in out


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


def tight(ulp="0.75"):
    """Bounds whose measured ones are all this wide, of the kernel that the reports are of."""
    rows, _, formula = DEFAULT_BOUNDS.read_text().partition("# The error that the kernel is allowed")
    text = rows.replace("ulp = 0.501", f"ulp = {ulp}") + "#" + formula.replace("ulp = 0.501", "ulp = 0.8")
    text = re.sub(r"outputs = \d+", "outputs = 11", re.sub(r"judged_ulp = .*", "judged_ulp = 0.5", text))
    text = text.replace('device = "NVIDIA H200"', 'device = "cpu"').replace(
        'mode = "device"', 'mode = "interpret"'
    )
    Path("mine.toml").write_text(text)
    return ["--bounds", "mine.toml"]


def test_the_ratchet_tightens_and_never_loosens(capsys):
    bounds = tight("0.75")
    better = made(strata=(stratum(judged_ulp=0.6), stratum(result="lse", judged_ulp=0.7)))
    code, _, out = gated(capsys, better, *bounds, "--update-bounds")
    assert code == 0
    assert re.search(r"float32 +0\.75 → 0\.6(01)?  tightened", out)
    measured = read_measured(Path("mine.toml"))
    assert measured["float16"].ulp == 0.75
    assert 0.7 <= measured["lse"].ulp < 0.702
    assert measured["float32"].judged_ulp == 0.6
    assert load_bounds("mine.toml").ulp == 0.8

    text = Path("mine.toml").read_text()
    worse = made(strata=(stratum(judged_ulp=0.7), stratum(result="lse", judged_ulp=0.5)))
    code, failed, out = gated(capsys, worse, *bounds, "--update-bounds")
    assert (code, failed) == (1, {"bounds"})
    assert "mine.toml is as it was" in out
    assert Path("mine.toml").read_text() == text  # not even the lse's, which got better


def test_a_reason_loosens_and_stands_beside_the_number(capsys):
    bounds = tight("0.6")
    worse = made(strata=(stratum(judged_ulp=0.7), stratum(result="lse", judged_ulp=0.5)))
    assert gated(capsys, worse, *bounds)[0] == 1
    code, _, out = gated(capsys, worse, *bounds, "--update-bounds", "--loosen", "twice as fast\nat S = 128")
    assert code == 0
    assert re.search(r"float32 +0\.6 → 0\.7(01)?  loosened", out)
    assert 'reason = "loosened from 0.6 ulp: twice as fast at S = 128"' in Path("mine.toml").read_text()
    assert gated(capsys, worse, *bounds)[0] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"totals": {"outputs": 10}},
        {"findings": (finding(),), "totals": {"failed": 1}, "run": {"exit_code": 1}},
        {"run": {"stopped_by": "first fault"}},
    ],
)
def test_a_report_that_fails_otherwise_moves_no_bound_for_any_reason(changes, capsys):
    bounds = tight("0.6")
    text = Path("mine.toml").read_text()
    worse = made(strata=(stratum(judged_ulp=0.7),), **changes)
    assert gated(capsys, worse, *bounds, "--update-bounds", "--loosen", "because")[0] == 1
    assert Path("mine.toml").read_text() == text


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
