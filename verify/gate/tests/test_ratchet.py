"""Measured bounds: read, tightened, never loosened in silence, and written without touching anything else."""

import tomllib
from dataclasses import replace

import pytest

from fuzz.formats import FORMATS
from reports.tests.examples import report, stratum
from verify.bounds import DEFAULT_BOUNDS, FP32_BOUNDS, load_bounds
from verify.gate.measured import MeasuredBound, read_measured, rewritten
from verify.gate.ratchet import LEAST, measure, ratchet


def bound(ulp=0.75, **changes):
    values = {
        "ulp": ulp,
        "judged_ulp": ulp - 0.0004,
        "outputs": 1000,
        "witness": "0/1 at [0, 0, 3]",
        "kernel": "k.py:merge",
        "source_sha256": "12" * 32,
        "device": "a device",
        "mode": "interpret",
        "versions": "torch 2",
        "date": "2026-01-01",
    }
    return MeasuredBound(**{**values, **changes})


def only(changes):
    (change,) = changes
    return change


def test_a_bound_of_one_device_is_not_tightened_on_another():
    old = measure(report())
    name, bound = next(iter(old.items()))
    wide = {name: replace(bound, ulp=0.6, judged_ulp=0.6, device="Some GPU", mode="device")}
    after, (change, *_) = ratchet(wide, {name: bound})
    assert after == wide
    assert change.said == f"kept: it was measured on Some GPU (device), this on {bound.device} ({bound.mode})"


def test_the_projects_own_bounds_are_measured_for_every_result():
    measured = read_measured(DEFAULT_BOUNDS)
    assert list(measured) == [*FORMATS, "lse"]
    for found in measured.values():
        assert LEAST <= found.ulp <= load_bounds().ulp
        assert found.judged_ulp <= found.ulp
        assert found.outputs > 100_000
        assert found.reason == ""
        assert found.witness


def test_bounds_without_a_measurement_have_none():
    assert read_measured(FP32_BOUNDS) == {}


def test_a_measurement_takes_the_worst_stratum_of_each_result():
    strata = (
        stratum(family="ties", judged_ulp=0.55, outputs=7, witness="0/1 at [0, 0, 0]"),
        stratum(family="empties", judged_ulp=0.6123, outputs=5, witness="0/2 at [0, 0, 1]"),
        stratum(family="ties", dtype="bfloat16", judged_ulp=0.2),
        stratum(family="ties", dtype="bfloat16", result="lse", judged_ulp=0.4),
        stratum(family="ties", result="lse", judged_ulp=0.5),
        stratum(family="specials", dtype="float16", judged_ulp=9.0, failed=1),
        stratum(family="specials", dtype="float16", result="lse", judged_ulp=0.3),
        stratum(family="specials", dtype="float8_e5m2", judged_ulp=0.0, numbers=0),  # nothing but NaN
    )
    measured = measure(report(strata=strata))
    assert {name: found.ulp for name, found in measured.items()} == {
        "float32": 0.613,  # rounded up
        "bfloat16": 0.501,  # no lower than what a correct rounding needs
        "lse": 0.501,
    }
    assert (measured["float32"].judged_ulp, measured["float32"].outputs) == (0.6123, 12)
    assert measured["float32"].witness == "0/2 at [0, 0, 1]"
    assert measured["float32"].versions == "torch 2.13.0"
    assert measured["float32"].date == "2026-01-01"
    assert all(found.ulp >= found.judged_ulp for found in measured.values())


def test_a_witness_that_needs_no_journal_is_preferred():
    hunted = stratum(family="hunt", judged_ulp=0.50000002, margin=0.999, witness="hunt/0/0/1/0 at [0, 0, 0]")
    drawn = stratum(family="ties", judged_ulp=0.50000001, margin=0.998, witness="0/7 at [0, 0, 0]")
    found = measure(report(strata=(hunted, drawn)))["float32"]
    assert (found.witness, found.judged_ulp) == ("0/7 at [0, 0, 0]", 0.50000002)
    far = replace(hunted, judged_ulp=0.6)
    assert measure(report(strata=(far, drawn)))["float32"].witness.startswith("hunt/")


def test_a_lower_measurement_tightens():
    after, changes = ratchet({"float32": bound(0.75, allowance=0.2)}, {"float32": bound(0.6)})
    assert (after["float32"].ulp, after["float32"].allowance) == (0.6, 0.2)
    assert (only(changes).before, only(changes).after, only(changes).said) == (0.75, 0.6, "tightened")


def test_a_higher_measurement_loosens_nothing():
    known = {"float32": bound(0.6)}
    after, changes = ratchet(known, {"float32": bound(0.75)})
    assert after == known
    assert only(changes).said == "exceeded"


def test_with_a_reason_it_does_and_the_reason_is_kept_with_what_was_before():
    after, changes = ratchet({"float32": bound(0.6)}, {"float32": bound(0.75)}, "half the time")
    assert (after["float32"].ulp, only(changes).said) == (0.75, "loosened")
    assert after["float32"].reason == "loosened from 0.6 ulp: half the time"
    # When it is tightened again the number needs no excuse.
    again, _ = ratchet(after, {"float32": bound(0.6)})
    assert (again["float32"].ulp, again["float32"].reason) == (0.6, "")


def test_a_reason_loosens_nothing_that_was_not_exceeded():
    known = {"float32": bound(0.75), "lse": bound(0.6)}
    after, changes = ratchet(known, {"float32": bound(0.6), "lse": bound(0.6)}, "half the time")
    assert (after["float32"].ulp, after["float32"].reason, after["lse"]) == (0.6, "", known["lse"])
    assert [change.said for change in changes] == ["tightened", "kept"]


def test_a_measurement_of_few_values_tightens_nothing():
    known = {"float32": bound(0.75, outputs=1000)}
    assert ratchet(known, {"float32": bound(0.6, outputs=499)})[0] == known
    assert ratchet(known, {"float32": bound(0.6, outputs=500)})[0] != known


def test_a_bound_within_the_rounding_is_kept():
    known = {"float32": bound(0.75)}
    after, changes = ratchet(known, {"float32": bound(0.75, judged_ulp=0.7499, outputs=10**9)})
    assert (after, only(changes).said) == (known, "kept")


def test_a_bound_that_a_measurement_keeps_but_for_its_rounding_is_not_loosened():
    known = {"float32": bound(0.6005)}
    after, changes = ratchet(known, {"float32": bound(0.601, judged_ulp=0.6002)}, "half the time")
    assert (after, only(changes).said) == (known, "kept")


def test_what_was_not_measured_stays_and_what_is_new_comes_in():
    after, changes = ratchet({"float32": bound(0.75)}, {"lse": bound(0.6)})
    assert after == {"float32": bound(0.75), "lse": bound(0.6)}
    assert [(change.result, change.said) for change in changes] == [
        ("float32", "not measured"),
        ("lse", "new"),
    ]


PLAIN = DEFAULT_BOUNDS.read_text().partition("# The error that the kernel is allowed")[2]
AWKWARD = 'a "quoted" \\ \x7f Σ'


@pytest.mark.parametrize("text", [DEFAULT_BOUNDS.read_text(), "# " + PLAIN, FP32_BOUNDS.read_text()])
def test_a_file_is_rewritten_and_nothing_else_in_it_changes(text, tmp_path):
    bounds = {"bfloat16": bound(0.6, witness=AWKWARD), "lse": bound(0.7, reason="why not")}
    known = tomllib.loads(text).get("measured", {})
    kept = {name: MeasuredBound(**table) for name, table in known.items() if name not in bounds}
    changed = rewritten(text, {**kept, **bounds})
    file = tmp_path / "bounds.toml"
    file.write_text(changed)
    read = read_measured(file)
    assert read["bfloat16"].witness == AWKWARD
    assert {name: read[name] for name in bounds} == bounds
    assert {name: read[name] for name in kept} == kept
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [line for line in changed.splitlines() if line.startswith("#")] == comments
    strip = ("name", "file", "sha256")
    plain = tmp_path / "plain.toml"
    plain.write_text(text)
    before, after = (
        {name: value for name, value in vars(load_bounds(of)).items() if name not in strip}
        for of in (plain, file)
    )
    assert before == after
    assert rewritten(changed, read) == changed


def test_comments_in_a_table_stay_there():
    text = rewritten("# " + PLAIN, {"lse": bound(0.7)}).replace(
        "[measured.lse]", "[measured.lse]\n# for the lse"
    )
    changed = rewritten(text, {"lse": bound(0.6)})
    assert "[measured.lse]\n# for the lse\nulp = 0.6\n" in changed


def test_tables_that_are_written_otherwise_are_refused_and_not_guessed():
    text = f"measured = {{ lse = {{ ulp = 1 }} }}\n# {PLAIN}"
    with pytest.raises(ValueError, match="not written as this command writes them"):
        rewritten(text, {"lse": bound(0.6)})


ROWS = rewritten("# " + PLAIN, {"lse": bound(0.75)})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("measured = 3", "measured is 3, wanted tables"),
        (
            ROWS.replace("measured.lse", "measured.float7"),
            "[measured.float7] is of nothing; there are float32",
        ),
        (ROWS.replace("outputs = 1000\n", ""), "[measured.lse]: outputs is missing"),
        (ROWS + "more = 1\n", "'more' is unknown"),
        (ROWS.replace("ulp = 0.75\n", "ulp = inf\n"), "ulp is inf, wanted a finite number"),
        (ROWS.replace("ulp = 0.75\n", "ulp = true\n"), "ulp is True, wanted a finite number"),
        (ROWS.replace("outputs = 1000", "outputs = 1e3"), "outputs is 1000.0, wanted a count"),
        (ROWS.replace('"a device"', "3"), "device is 3, wanted text"),
        ("[measured]\nlse = 3", "[measured.lse]: it is 3, wanted a table"),
    ],
)
def test_a_bad_file_is_named_in_one_line(tmp_path, text, complaint):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.toml") as caught:
        read_measured(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
