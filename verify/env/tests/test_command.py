"""`python -m verify.env`, and `python -m verify.diff` of two passports."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import verify.diff.__main__ as diff
from verify.commands import main as any_command
from verify.env import __main__ as command
from verify.env.passport import read_passport, to_json
from verify.env.probe import REFUSED, RefusedError
from verify.env.registry import PROBES
from verify.env.tests.test_passport import entry, passport

ROOT = Path(__file__).parents[3]
FEW = ("zeros/maximum", "contraction/fma/float32", "subnormal result/multiply")


@pytest.fixture(autouse=True)
def _few(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(command, "PROBES", {name: PROBES[name] for name in FEW})


def test_without_probe_it_prints_the_environment(capsys):
    assert command.main(["--device=cpu", "--json=env.json"]) == 0
    shown = capsys.readouterr().out
    body = json.loads(Path("env.json").read_text())
    assert body["schema"] == "mla-merge-environment/1"
    assert body["mode"] == "interpret"
    assert body["environment"]["variables"]["TRITON_INTERPRET"] == "1"
    for name, version in body["environment"]["versions"].items():
        assert name in shown
        assert version in shown
    assert "PASSPORT" not in shown


def test_with_probe_it_writes_a_passport(capsys):
    assert command.main(["--probe", "--device=cpu", "--seed=3", "--json=deep/p.json", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("PASSPORT ")
    assert lines[0].endswith(" seed 3")
    kept = read_passport(Path("deep/p.json"))
    assert {one.name for one in kept.entries} == {*FEW}
    assert {one.engine for one in kept.entries} == {"triton", "torch"}
    assert kept.mode == "interpret"


def test_the_verdict_is_the_last_line(capsys):
    assert any_command(["env", "--probe", "--device=cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("PASSPORT ")
    assert any("subnormal result/multiply" in line for line in lines)


def test_json_to_stdout_stands_alone(capsys):
    assert command.main(["--probe", "--device=cpu", "--json=-"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "mla-merge-passport/1"
    assert command.main(["--json=-", "--device=cpu"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "mla-merge-environment/1"


def test_where_everything_is_refused_nothing_was_found_out(monkeypatch, capsys):
    def refuse(engine, seed):
        raise RefusedError("no")

    few = {name: replace(PROBES[name], find=refuse) for name in FEW}
    monkeypatch.setattr(command, "PROBES", few)
    assert command.main(["--probe", "--device=cpu"]) == 5
    assert REFUSED in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json=."], "--json '.': wanted the name of a file, or -"),
        (["--json=/proc/none/p.json"], "--json /proc/none: cannot write there"),
        (["--nonsense"], "unrecognized arguments"),
        (["--seed=-1"], "is not a whole number"),
    ],
)
def test_mistakes_are_one_line(words, said, capsys):
    assert command.main([*words, "--device=cpu"]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_probe_of_the_sweep_in_the_configuration_is_no_mistake(monkeypatch, capsys):
    monkeypatch.setenv("MLA_VERIFY_PROBE", "log,cast")
    assert command.main(["--device=cpu"]) == 0
    monkeypatch.setenv("MLA_VERIFY_PROBE", "maybe")
    assert command.main(["--device=cpu"]) == 2
    assert "MLA_VERIFY_PROBE: 'maybe' is not a switch" in capsys.readouterr().err


def test_without_triton_there_is_no_passport(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert command.main(["--probe", "--device=cpu"]) == 2
    assert "triton is not installed" in capsys.readouterr().err


def test_nothing_heavy_is_imported_before_the_variable_is_set():
    said = "import sys, verify.env.__main__\nprint('triton' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"


def write(name, one):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(to_json(one))
    return name


def test_passports_that_differ(capsys):
    a = passport(entry(), entry(name="x", follows="every lse"), entry(name="only A"), mode="interpret")
    b = passport(
        entry(answer="correctly rounded", measured={"max_ulp": 0.5}),
        entry(name="x", follows="every lse", measured={"max_ulp": 2.5, "points": 7, "said": "x"}),
    )
    assert diff.main([write("a.json", a), write("b/passport.json", b) and "b"]) == 1
    shown = capsys.readouterr().out
    assert "| mode | interpret | device |" in shown
    assert "Other answers: 2 of 3" in shown
    assert "What follows: every weight." in shown
    assert "| triton: accuracy/exp2 | beyond 1 ulp | correctly rounded | max_ulp 2.05" in shown
    assert "| triton: only A | beyond 1 ulp | not asked |" in shown
    assert "| triton: x | beyond 1 ulp | max_ulp 2.05 | max_ulp 2.5 | every lse |" in shown
    assert shown.splitlines()[-1] == "DIFFERENT passports answers 2 numbers 1"
    assert Path("out/diff/diff.md").read_text().startswith("# a.json → b\n")


def test_witnesses_and_words_of_refusals_are_no_differences(capsys):
    a, b = (
        passport(
            entry(witness=witness), entry(name="x", answer=REFUSED, witness=None, measured={"said": said})
        )
        for witness, said in ((None, "no"), (entry().witness, "never"))
    )
    assert diff.main([write("a.json", a), write("b.json", b)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "SAME passports answers 0 numbers 0"


@pytest.mark.parametrize(
    ("names", "code", "said"),
    [
        (["a.json", "HEAD"], 2, "HEAD is no passport, the other side is one"),
        (["a.json", "seed.json"], 2, "seeds 0 and 1, so at other points"),
        (["a.json", "broken.json"], 3, "no whole passport"),
        (["a.json", "a.json", "--seed=1"], 2, "--seed: both runs were made already"),
        (["a.json"], 2, "1 of two sides"),
    ],
)
def test_sides_that_cannot_be_compared(names, code, said, capsys):
    write("a.json", passport())
    write("seed.json", passport(seed=1))
    Path("broken.json").write_text('{"schema": "mla-merge-passport/1"}')
    assert diff.main(names) == code
    assert said in capsys.readouterr().err
