"""A passport as a file: what is written is read, and what is none is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.records import Number
from verify.env.page import environment_lines, passport_lines, verdict
from verify.env.passport import Entry, Passport, ask_all, is_passport, read_passport, to_json
from verify.env.probe import REFUSED, Answer, Witness
from verify.env.registry import PROBES
from verify.env.tests.engines import HONEST, Spoilt

COMMITTED = Path(__file__).parents[3] / "reports" / "interpreter" / "passport.json"
ONE = Number(dec="1.0", hex="0x1p+0", bits="0x3f800000")


def entry(**changes):
    values = {
        "engine": "triton",
        "name": "accuracy/exp2",
        "question": "How far?",
        "answers": ("correctly rounded", "beyond 1 ulp"),
        "answer": "beyond 1 ulp",
        "follows": "every weight",
        "witness": Witness(operands=(ONE, ONE), got=ONE, right=None),
        "measured": {"max_ulp": 2.05, "points": 7, "said": "x"},
    }
    return Entry(**{**values, **changes})


def passport(*entries, **changes):
    values: dict[str, Any] = {
        "tool": {"name": "mla-merge-verify", "version": "0", "revision": "f" * 40, "dirty": True},
        "environment": {
            "device": "a GPU",
            "arch": "sm_90",
            "driver": "1",
            "cpus": 2,
            "versions": {"torch": "2"},
        },
        "mode": "device",
        "seed": 0,
        "entries": entries or (entry(), entry(engine="torch", witness=None, answer=REFUSED, measured={})),
    }
    values["environment"]["variables"] = {"TRITON_X": "1"}
    return Passport(**{**values, **changes})


def test_what_is_written_is_read(tmp_path):
    file = tmp_path / "passport.json"
    one = passport(
        entry(witness=Witness(operands=(ONE,), got=ONE, right=ONE)), entry(engine="torch", witness=None)
    )
    file.write_text(to_json(one))
    assert is_passport(file)
    assert read_passport(file) == one
    assert to_json(read_passport(file)) == to_json(one)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "schema 'list', mla-merge-passport/1 is wanted"),
        ('{"schema": "mla-merge-passport/2"}', "schema 'mla-merge-passport/2'"),
        ('{"schema": "mla-merge-passport/1"}', "no whole passport"),
        ("{", "Expecting"),
    ],
)
def test_what_is_none_is_refused(text, said, tmp_path):
    file = tmp_path / "passport.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_passport(file)


@pytest.mark.parametrize("lost", ["answer", "witness", "measured", "follows"])
def test_a_damaged_row_is_refused(lost, tmp_path):
    body = json.loads(to_json(passport()))
    del body["probes"][0][lost]
    (tmp_path / "p.json").write_text(json.dumps(body))
    with pytest.raises(ValueError, match="no whole passport"):
        read_passport(tmp_path / "p.json")


def test_reports_and_missing_files_are_no_passports(tmp_path):
    (tmp_path / "report.json").write_text('{"schema": "mla-merge-report/1"}')
    assert not is_passport(tmp_path / "report.json")
    assert not is_passport(tmp_path / "nothing.json")
    assert not is_passport(tmp_path)


def test_engines_are_asked_what_they_have_and_nothing_else():
    some = [PROBES[name] for name in ("contraction/fma/float32", "zeros/maximum")]
    told = []
    fused = Spoilt({"fma": lambda a, b, c, _: a * b - c})
    found = list(
        ask_all((fused, HONEST), some, 0, lambda done, total, name: told.append((done, total, name)))
    )
    assert [one.key for one in found] == [
        "spoilt: contraction/fma/float32",
        "spoilt: zeros/maximum",
        "torch: zeros/maximum",
    ]
    assert [done for done, _, _ in told] == [0, 1, 2]
    assert {total for _, total, _ in told} == {3}


def test_an_error_of_the_suite_is_no_answer():
    broken = replace(PROBES["zeros/maximum"], find=lambda engine, seed: Answer(answer="?"))
    with pytest.raises(ValueError, match="none of"):
        list(ask_all((HONEST,), (broken,), 0, lambda *_: None))


def test_the_page_marks_what_is_otherwise_and_fits_a_screen():
    lines = "\n".join(passport_lines(passport())).splitlines()
    assert (
        "* accuracy/exp2  beyond 1 ulp   (max_ulp 2.05, points 7, said x; 0x1p+0, 0x1p+0 → 0x1p+0)" in lines
    )
    assert "* accuracy/exp2  refused" in lines
    right = passport(entry(answer="correctly rounded", measured={"said": "x" * 300}))
    shown = "\n".join(passport_lines(right)).splitlines()
    assert any(line.startswith("  accuracy/exp2  correctly rounded") for line in shown)
    assert max(map(len, shown)) <= 150
    assert verdict(passport()) == "PASSPORT a GPU device probes 2 as expected 0 otherwise 1 refused 1 seed 0"


def test_the_environment_is_told_in_full():
    one = passport()
    text = "\n".join(environment_lines(one.environment, one.mode, one.tool))
    for part in ("a GPU", "sm_90", "driver", "device", "torch", "TRITON_X", "ffffffffffff, with changes"):
        assert part in text


def test_the_committed_passport_is_of_these_probes():
    """Questions, answers and what follows are written into a passport: a stale one would mislead."""
    kept = read_passport(COMMITTED)
    assert kept.mode == "interpret"
    asked = {one.name for one in kept.entries if one.engine == "triton"}
    assert asked >= {name for name in PROBES if name.startswith(("accuracy", "rounding", "NaN", "order"))}
    for one in kept.entries:
        probe = PROBES[one.name]
        assert (one.question, one.answers, one.follows) == (probe.question, probe.answers, probe.follows)
        assert one.answer in (*probe.answers, REFUSED)
    assert {one.name for one in kept.entries} == {*PROBES}
