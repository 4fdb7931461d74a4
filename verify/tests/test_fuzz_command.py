"""The command as a user types it, in this process; kernels run in workers as always."""

import hashlib
import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import verify.replay.__main__ as replay
from fuzz.corpus import corpus_files
from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.serialize import from_json
from verify import fuzz
from verify.campaign import findings
from verify.campaign.profiles import PROFILES
from verify.laws import LAWS

SMALL = ["--profile", "smoke", "--workers", "1"]
HONEST = "verify.museum.honest:reference_merge"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_correct_kernel_passes_and_the_report_holds_what_was_done(capsys):
    assert fuzz.main([*SMALL, "--kernel", HONEST, "--seed", "5", "--json", "copy.json"]) == 0
    out = capsys.readouterr().out.splitlines()
    kept, hunted = len(corpus_files()), PROFILES["smoke"].hunted
    drawn = len(DRAWN) * len(FORMATS)
    cases = kept + drawn + hunted
    assert re.fullmatch(
        rf"PASS \S+ cases {cases} outputs \S+ worst margin 0\.\d+ judged 0\.\d+ ulp lse 0\.\d+ ulp "
        r"fail 0 known 0 unsupported 0 seed 5",
        out[-1],
    )
    text = Path("out/report.json").read_text()
    assert Path("copy.json").read_text() == text
    report = from_json(text)
    assert report.run["exit_code"] == 0
    assert report.run["mode"] in ("interpret", "device")
    assert report.totals["planned"] == report.totals["cases"] == report.totals["passed"] == cases
    assert report.totals["values_passed"] == report.totals["values"] > report.totals["outputs"] > 10_000
    assert report.run["stopped_by"] == ""
    assert report.run["streams"] == {"corpus": kept, "drawn": drawn, "hunt": hunted}
    reached = {name for name in report.coverage["cases"] if name.split()[0] not in ("corpus", "hunt")}
    assert reached == {f"{family} {dtype}" for family in DRAWN for dtype in FORMATS}
    assert set(report.totals["laws"]) == set(LAWS)
    spoke = {name for name, law in report.totals["laws"].items() if law["rows"] > 0}
    assert spoke == set(LAWS) - {"outputs"}  # this kernel is handed none
    assert len(report.coverage["cells"]) > 300
    assert report.coverage["discovery"][-1][1] == max(
        s.margin for s in report.strata if s.key.family != "hunt"
    )
    assert report.oracle["certified_fraction"] == 1.0
    assert sum(report.oracle["tiers"].values()) == report.totals["values"]
    assert report.run["config"]["seed"] == {"value": 5, "source": "--seed"}
    assert Path("out/summary.md").read_text().startswith("# PASS")


def test_the_report_does_not_depend_on_the_number_of_workers():
    reports = []
    for workers in ("1", "2"):
        options = ["--workers", workers, "--max-cases", "30", "--kernel", HONEST, "-q"]
        assert fuzz.main(options) == 0
        reports.append(from_json(Path("out/report.json").read_text()))
    assert reports[0].strata == reports[1].strata
    assert reports[0].coverage == reports[1].coverage


def test_a_missing_guard_is_found_shrunk_and_replayed(faulty, capsys):
    spec = faulty("no_guard")
    assert fuzz.main([*SMALL, "--family", "empties", "--kernel", spec]) == 1
    out = capsys.readouterr().out
    assert "SPURIOUS_NAN" in out
    assert "T=1 H=1 S=1 R=1 tile=1 (shrunk)" in out
    assert out.splitlines()[-1].startswith("FAIL verify.museum.empties:no_guard")
    for finding in from_json(Path("out/report.json").read_text()).findings:
        command = shlex.split(finding.repro["command"])
        assert command[:3] == ["python", "-m", "verify.replay"]
        assert Path(finding.repro["file"]).with_suffix(".py").is_file()
        assert replay.main(command[3:]) == 1
        assert finding.kind in capsys.readouterr().out


def test_a_drawn_case_is_replayed_from_its_seed_and_number(capsys):
    assert replay.main(["5/17", "--kernel", HONEST]) == 0
    out = capsys.readouterr().out
    assert '"family"' in out
    assert out.splitlines()[-1].startswith("PASS")


def test_any_value_is_explained_with_its_proof(capsys):
    assert replay.main(["0/9", "--kernel", HONEST, "--at", "0,0,0"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"proof in \[-?\d+, -?\d+\] · 2\^-?\d+, proved with \d+ bits", output)
    assert replay.main(["0/9", "--kernel", HONEST, "--at", "0,0"]) == 0
    assert capsys.readouterr().out != output
    for place, complaint in (
        ("0,999999", "the case has T="),
        ("0", "is not a place"),
        ("0,x", "is not a place"),
    ):
        assert replay.main(["0/9", "--kernel", HONEST, "--at", place]) == 2
        assert complaint in capsys.readouterr().err


def test_a_filter_leaves_cases_out_and_renumbers_none():
    reached = []
    for families, dtypes in (("empties,ties", "float16,bfloat16,float32"), ("ties", "float16,bfloat16")):
        options = ["--family", families, "--dtype", dtypes, "--kernel", HONEST, "-q"]
        assert fuzz.main([*SMALL, *options]) == 0
        strata = from_json(Path("out/report.json").read_text()).strata
        keys = {stratum.key: stratum for stratum in strata if stratum.key.family == "ties"}
        reached.append({key: value for key, value in keys.items() if key.dtype in ("float16", "bfloat16")})
    assert reached[0] == reached[1] != {}


def test_a_wrong_shape_is_a_finding(kernel, capsys):
    spec = kernel("def merge(o, *rest):\n    return o[:, :, 0], o[:, :, 0, 0]\n")
    assert fuzz.main(["--max-cases", "3", "--kernel", spec, "--dtype", "float16"]) == 1
    assert "output has dtype torch.float32, wanted torch.float16" in capsys.readouterr().out


def test_the_first_fault_stops_the_run_when_asked(faulty):
    assert fuzz.main([*SMALL, "-x", "-q", "--kernel", faulty("zeroed")]) == 1
    assert from_json(Path("out/report.json").read_text()).totals["cases"] < 10


def test_nothing_judged_is_not_a_pass(capsys):
    assert fuzz.main(["--budget", "0.000000001s", "--kernel", HONEST, "--workers", "1"]) == 5
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOTHING JUDGED")


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--kernel", "nosuch:thing"], "importing nosuch failed"),
        (["--kernel", "missing.py:merge"], "no file missing.py"),
        (["--dtype", "float7"], "'float7' is none of float32"),
        (["--family", "nosuch"], "'nosuch' is none of corpus, producer"),
        (["--workers", "none"], "nor auto"),
        (["--out", "file/below"], "cannot write there"),
        (["--nosuch"], "unrecognized arguments"),
        (["--json", ""], "wanted the name of a file"),
        (["--json", "folder"], "wanted the name of a file"),
        (["--json", "file/below.json"], "cannot write there"),
        (["--out", "taken"], "report.json cannot be replaced"),
    ],
)
def test_nonsense_is_one_line_and_exit_2(argv, complaint, capsys):
    Path("file").touch()
    Path("folder").mkdir()
    Path("taken/report.json").mkdir(parents=True)
    assert fuzz.main(argv) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("case", ["nosuch.safetensors", "5/x", "\u00b2/1", "broken.safetensors"])
def test_a_case_that_cannot_be_read_is_one_line_and_exit_2(case, capsys):
    Path("broken.safetensors").write_bytes(b"\xff" * 40)
    assert replay.main([case]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_report_can_be_the_whole_of_stdout(capsys):
    assert fuzz.main(["--max-cases", "2", "--kernel", HONEST, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["exit_code"] == 0


def test_families_and_dtypes_are_listed(capsys):
    assert fuzz.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("corpus", *DRAWN, "hunt", *FORMATS, *LAWS))


def test_an_interrupted_run_reports_what_it_has(faulty):
    command = [sys.executable, "-m", "verify.fuzz", "--kernel", faulty("no_guard"), "--profile", "ci"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert "cases" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        out = running.stdout.read()
        assert running.wait() == 130
    assert out.splitlines()[-1].startswith("INTERRUPTED verify.museum.empties:no_guard")
    report = from_json(Path("out/report.json").read_text())
    assert report.run["status"] == "interrupted"
    assert 0 < report.totals["cases"] < 1000
    assert bool(report.findings) == (report.totals["failed"] > 0)


def test_no_verdict_of_an_earlier_run_is_left_beside_one_that_failed():
    Path("out").mkdir()
    Path("out/report.json").write_text("PASS")
    assert fuzz.main(["--kernel", "nosuch:thing"]) == 2
    assert not Path("out/report.json").exists()


def test_every_finding_is_stored_in_a_file_that_keeps_its_digest(faulty):
    assert fuzz.main(["--max-cases", "48", "-q", "--kernel", faulty("natural_weights")]) == 1
    found = from_json(Path("out/report.json").read_text()).findings
    assert found
    for finding in found:
        assert hashlib.sha256(Path(finding.repro["file"]).read_bytes()).hexdigest() == finding.repro["sha256"]
    assert len({finding.id for finding in found}) == len(found)


def test_shrinking_ends_however_much_was_found(faulty, monkeypatch):
    monkeypatch.setattr(findings, "_ALL", 20)
    options = ["--max-cases", "48", "--dtype", "float32,float16,bfloat16", "-q"]
    assert fuzz.main([*options, "--kernel", faulty("natural_weights")]) == 1
    found = from_json(Path("out/report.json").read_text()).findings
    assert len(found) > 3
    assert not all(finding.shrunk for finding in found)
    assert all(Path(finding.repro["file"]).is_file() for finding in found)
