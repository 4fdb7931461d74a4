"""What a baseline, and a ledger of known faults, make of a report."""

from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.formats import FORMATS
from reports.tests.examples import finding, stratum
from verify.bounds import DEFAULT_BOUNDS
from verify.gate.tests.made import bounds_file, gated, made, waived


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
