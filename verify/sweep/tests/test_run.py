"""A sweep as a whole: its order, how it goes on, its files and its exit codes."""

from __future__ import annotations

import itertools
import json
import signal

import pytest
import torch

from fuzz.case import MergeCase
from fuzz.corpus import load_corpus
from fuzz.formats import FORMATS
from verify.bounds import load_bounds
from verify.campaign.pool import InternalError
from verify.cli.config import UsageError
from verify.sweep import __main__ as command
from verify.sweep import plan as planning
from verify.sweep import worst
from verify.sweep.plan import Plan
from verify.sweep.registry import PROBES
from verify.sweep.run import sweep
from verify.sweep.settle import from_oracle
from verify.sweep.state import State
from verify.sweep.tally import Tally, from_record, to_record
from verify.sweep.tests.kernels import HONEST, spoilt, subject_of

PLAN = Plan(probes=("log", "cast"), dtypes=("bfloat16", "float8_e5m2"), device="cpu", full=False, seed=0)
KERNEL = "verify.museum.honest:reference_merge"


def silent(done, total, said):
    pass


@pytest.fixture
def small(monkeypatch):
    """Let probes have few points, and calls fewer."""
    monkeypatch.setattr(planning, "_CALL", {"cpu": 256})
    for probe in {type(PROBES[name]) for name in ("log", "cast", "exp2")}:
        subset = probe.subset
        monkeypatch.setattr(
            probe, "subset", lambda self, seed, fmt, of=subset: of(self, seed, fmt)[seed::200].clone()
        )


def test_every_point_is_in_one_call(monkeypatch):
    monkeypatch.setattr(planning, "_CALL", {"cpu": 1 << 24})
    whole = Plan(probes=("partition", "cancel"), dtypes=tuple(FORMATS), device="cpu", full=True, seed=0)
    ranges = PROBES["partition"].ranges
    monkeypatch.setattr(PROBES["partition"], "ranges", (ranges[7], ranges[39]))
    monkeypatch.setattr(PROBES["cancel"], "ranges", ((5, 1000), (1 << 24, (3 << 24) + 1)), raising=False)
    for unit in whole.units():
        parts = list(whole.calls(unit))
        assert sum(len(part.points) for part in parts) == whole.size(unit)
        ends = [(int(part.points[0]), int(part.points[-1])) for part in parts]
        assert all(right < left for (_, right), (left, _) in itertools.pairwise(ends))
        assert all(b - a + 1 == len(part.points) for (a, b), part in zip(ends, parts, strict=True))
        assert all(len({*unit.probe.shape(part.points[[0, -1]]).tolist()}) == 1 for part in parts)
        later = list(whole.calls(unit, 2))
        assert [int(part.points[0]) for part in later] == [left for left, _ in ends[2:]]


def test_units():
    assert [unit.name for unit in PLAN.units()] == ["log", "cast-bfloat16", "cast-float8_e5m2"]


def run(out, subject=HONEST, *, resume=False, **options):
    state = State(out, {"seed": PLAN.seed}, resume=resume)
    return sweep(subject, PLAN, load_bounds(), state, silent, **options)


def counting(calls):
    """Return an honest kernel that notes its calls."""

    def merge(o, *rest):
        calls.append(o.shape)
        return HONEST.merge(o, *rest)

    return subject_of(merge)


def test_a_sweep_goes_on_where_it_was_stopped(tmp_path, small):
    every: list[torch.Size] = []
    first_calls: list[torch.Size] = []
    later_calls: list[torch.Size] = []
    none: list[torch.Size] = []
    straight = run(tmp_path / "a", counting(every))
    assert all(swept.complete and swept.tally.clean for swept in straight.swept)
    assert straight.stopped_by == ""
    ticks = itertools.count()
    first = run(tmp_path / "b", counting(first_calls), budget_s=9, clock=lambda: float(next(ticks)))
    assert first.stopped_by == "budget"
    assert not all(swept.complete for swept in first.swept)
    rest = run(tmp_path / "b", counting(later_calls), resume=True)
    assert rest.swept == straight.swept
    assert first_calls
    assert first_calls + later_calls == every
    assert run(tmp_path / "b", counting(none), resume=True).swept == straight.swept
    assert none == []


def test_ctrl_c_keeps_what_was_judged(tmp_path, small):
    calls = []

    def merge(o, *rest):
        calls.append(o.shape)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return HONEST.merge(o, *rest)

    first = run(tmp_path, subject_of(merge))
    assert first.stopped_by == "interrupt"
    later: list[torch.Size] = []
    rest = run(tmp_path, counting(later), resume=True)
    assert len(later) == len(calls) - 4 + sum(-(-s.size // 256) for s in rest.swept) - 3
    assert all(swept.complete and swept.tally.clean for swept in rest.swept)


def test_a_kernel_that_crashes_ends_its_units_alone(tmp_path, small):
    calls = []

    def merge(o, m, s, lens, tile, dtype):
        calls.append(dtype)
        if dtype == torch.bfloat16:
            raise RuntimeError("no")
        return HONEST.merge(o, m, s, lens, tile, dtype)

    result = run(tmp_path, subject_of(merge))
    assert [swept.complete for swept in result.swept] == [True, False, True]
    assert [swept.tally.clean for swept in result.swept] == [True, False, True]
    assert calls.count(torch.bfloat16) == 1
    assert run(tmp_path, subject_of(merge), resume=True).swept == result.swept
    assert calls.count(torch.bfloat16) == 1


def test_a_tally_survives_its_file(tmp_path, small):
    subject = spoilt(lambda o, m, s: s[..., 0] > 1, lse=lambda x: x + torch.nan)
    tally = run(tmp_path, subject).swept[0].tally
    assert 0 < tally.misplaced < tally.points
    assert from_record(json.loads(json.dumps(to_record(tally)))) == tally
    assert tally.merged(Tally()) == tally == Tally().merged(tally)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"calls": 1}', '{"calls": 1, "tally": {"points": 2}}'])
def test_a_damaged_state_is_named(tmp_path, text):
    state = State(tmp_path, {}, resume=False)
    (tmp_path / "state" / "log.json").write_text(text)
    with pytest.raises(UsageError, match=r"log\.json: damaged"):
        state.load("log")


def test_the_oracle_must_agree_about_the_worst_points(monkeypatch):
    unit = PLAN.units()[1]
    points = [1 << 23, 3 << 23]
    case, found = worst.look_again(HONEST, unit, points, "cpu")
    assert (case.T, [one.point for one in found]) == (2, points)
    right = from_oracle

    def wrong(case, result):
        values = right(case, result)
        values.rounded[1] *= 2
        return values

    monkeypatch.setattr(worst, "from_oracle", wrong)
    with pytest.raises(InternalError, match=f"at point {3 << 23}"):
        worst.look_again(HONEST, unit, points, "cpu")


def call(*argv, out) -> int:
    return command.main([*argv, "--device", "cpu", "--out", str(out)])


def test_command(tmp_path, small, capsys):
    assert call("--kernel", KERNEL, "--probe", "cast,log", "--dtype", "float16", "-q", out=tmp_path) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"PASS {KERNEL} sweep subset units 2 points ")
    assert [line.split("|")[1:3] for line in said[2:-1]] == [[" log ", " lse "], [" cast ", " float16 "]]
    body = json.loads((tmp_path / "sweep.json").read_text())
    log, cast = body["units"]
    assert (body["schema"], body["exit_code"], body["full"]) == ("mla-merge-sweep/1", 0, False)
    assert log["complete"]
    assert log["points"] == log["size"] == sum(log["histogram"]["counts"])
    assert log["decided_on_the_device"] == log["points"] - log["handed_on"]
    assert log["worst"][0]["ulp"] == pytest.approx(log["max_ulp"], abs=2**-11) or log["max_ulp"] == 0
    assert abs(cast["worst"][0]["ulp"]) == cast["max_ulp"] == 0.5
    maps = json.loads((tmp_path / "sweep-maps.json").read_text())["maps"]
    assert [one["unit"] for one in maps] == ["log", "cast-float16"]
    assert {len(line) for one in maps for line in one["max_ulp"]} == {16}
    assert len(maps[0]["lines"]) == len(maps[0]["max_ulp"])
    assert "+2^0" in maps[0]["lines"]
    assert (tmp_path / "sweep.md").read_text().startswith(f"# Sweep of {KERNEL}\n")


def test_worst_points_are_cases_that_the_corpus_takes(tmp_path, small):
    call("--kernel", KERNEL, "--probe", "exp2,log", "--dtype", "float16", "-q", out=tmp_path)
    cases = dict(load_corpus(tmp_path / "worst"))
    assert sorted(cases) == ["sweep-exp2-float16", "sweep-log"]
    log = cases["sweep-log"]
    assert isinstance(log, MergeCase)
    assert (log.T, log.S, log.R) == (worst.KEPT, 1, 1)
    body = json.loads((tmp_path / "sweep.json").read_text())
    (unit,) = (unit for unit in body["units"] if unit["probe"] == "log")
    assert [float.fromhex(one["s"][0]) for one in unit["worst"]] == log.segm_expsum.flatten().tolist()


def test_a_failing_kernel_is_found(tmp_path, small, capsys):
    file = tmp_path / "kernel.py"
    file.write_text(
        "from verify.museum.honest import reference_merge\n"
        "def merge(*args):\n"
        "    output, lse = reference_merge(*args)\n"
        "    return output, lse * (1 + 2.0**-22)\n"
    )
    assert call("--kernel", f"{file}:merge", "--probe", "log", "-q", out=tmp_path / "out") == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("FAIL kernel.py:merge sweep subset units 1 ")


def test_a_budget_ends_without_a_verdict(tmp_path, small, capsys):
    assert call("--kernel", KERNEL, "--probe", "log", "--budget", "1e-9s", "-q", out=tmp_path) == 130
    assert "stopped by budget" in capsys.readouterr().out.splitlines()[-1]
    assert command.main(["--resume", str(tmp_path), "--budget", "600s", "-q"]) == 0


def test_nothing_supported_is_no_pass(tmp_path, small):
    file = tmp_path / "kernel.py"
    file.write_text(
        "from verify.museum.honest import reference_merge\n"
        "from verify.subjects import supports\n"
        "@supports(S='pow2 8..128')\n"
        "def merge(*args):\n"
        "    return reference_merge(*args)\n"
    )
    assert call("--kernel", f"{file}:merge", "--probe", "log,exp2", "-q", out=tmp_path / "out") == 5


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--probe", "sine"], "--probe: 'sine' is none of partition, log"),
        (["--full", "--subset"], "--full and --subset"),
        (["--resume", "nowhere"], "there is no sweep to go on with"),
        (["--kernel", "nothing"], "is not a kernel's name"),
        (["--bounds", "nothing"], "--bounds: "),
    ],
)
def test_mistakes_are_one_line(argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main([*argv, "--device", "cpu"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_another_sweep_is_not_gone_on_with(tmp_path, small, capsys):
    call("--kernel", KERNEL, "--probe", "log", "-q", out=tmp_path)
    assert command.main(["--resume", str(tmp_path), "--seed", "3"]) == 2
    assert "seed was 0 and now is 3" in capsys.readouterr().err
    assert command.main(["--resume", str(tmp_path), "--out", str(tmp_path)]) == 2


def test_probes_are_listed(capsys):
    assert command.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(PROBES)
