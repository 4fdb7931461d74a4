"""A run that is killed, whenever, goes on and ends as one that was not."""

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from reports.serialize import from_json

_OPTIONS = ["--max-cases", "70", "--seed", "3", "--family", "corpus,empties,ties,producer,constant", "-q"]


def started(*options):
    return subprocess.Popen(
        [sys.executable, "-m", "verify.fuzz", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*options):
    with started(*options) as running:
        out, error = running.communicate(timeout=300)
        assert running.returncode == 1, error
    return out


def lines(journal):
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def comparable(folder):
    """Return a report without what two runs may differ in: when, how long, and where."""
    report = from_json((folder / "report.json").read_text())
    timeless = {name: value for name, value in report.totals.items() if not name.endswith("_s")}
    run = {
        name: report.run[name] for name in ("profile", "max_cases", "seed", "shard", "streams", "exit_code")
    }
    findings = [
        replace(finding, repro={**finding.repro, "file": "", "command": ""}) for finding in report.findings
    ]
    return run, timeless, report.strata, report.coverage, report.oracle, report.notes, findings


def test_a_run_killed_at_ten_moments_ends_as_one_that_was_not(faulty, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kernel = ["--kernel", faulty("no_guard")]
    finished(*_OPTIONS, *kernel, "--out", "whole")
    journal = Path("killed/journal.jsonl")
    moments = random.Random(5)
    judged = []
    for kill in range(10):
        # Mostly with the kernel in the run's own process: ten times two workers take a minute to start.
        isolate = ["--isolate", "on" if kill % 5 == 0 else "off"]
        resumed = ["--resume", "killed"] if kill else [*_OPTIONS, *kernel, "--out", "killed"]
        with started(*resumed, *isolate) as running:
            wanted = lines(journal) + moments.randrange(1, 9)
            while lines(journal) < wanted and running.poll() is None:
                time.sleep(0.001)
            time.sleep(moments.random() * 0.05)
            running.send_signal(signal.SIGKILL)
            running.wait()
            assert running.returncode == -signal.SIGKILL
        judged.append(lines(journal))
    assert judged == sorted(set(judged))  # every start added something
    before = journal.read_bytes()
    out = finished("--resume", "killed")
    assert out.splitlines()[-1].startswith("FAIL verify.museum.empties:no_guard cases ")
    assert journal.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    cases = [line.split(b'"case":"')[1].split(b'"')[0] for line in journal.read_bytes().splitlines()[1:]]
    assert len(set(cases)) == len(cases)
    assert comparable(Path("killed")) == comparable(Path("whole"))
