import itertools
import math
import random
from dataclasses import fields, replace

import pytest

from reports.combine import OF_A_SHARD, combine
from reports.markdown import verdict_line
from reports.records import Report
from reports.serialize import from_json, to_json
from reports.tests import examples
from reports.tests.model import case, reported, shard_reports


def run_of(seed, size, faulty=0.2):
    return [case(seed, number, faulty) for number in range(size)]


def changed(report, part, **changes):
    parts = {item.name: getattr(report, item.name) for item in fields(report)}
    return Report(**{**parts, part: {**parts[part], **changes}})


def without_recipes(findings):
    return [replace(finding, recipe=None) for finding in findings]


PARTS = ("tool", "environment", "subject", "oracle", "bounds", "totals", "strata", "regimes", "coverage")


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(6))
def test_the_shards_together_are_the_run_that_was_not_sharded(seed, count):
    cases = run_of(seed, 60, faulty=seed % 4 * 0.1)
    wanted = reported(cases, seed=seed)
    shards = shard_reports(cases, count, seed=seed)
    random.Random(seed).shuffle(shards)
    found = combine(from_json(to_json(shard)) for shard in shards)
    # Seconds, and what follows from them, are those of other runs.
    timed = {"elapsed_s": 2.0, "compile_s": 6.0, "outputs_per_s": wanted.totals["outputs_per_s"]}
    assert found.totals == {**wanted.totals, **timed}
    for part in PARTS:
        if part != "totals":
            assert getattr(found, part) == getattr(wanted, part), part
    assert without_recipes(found.findings) == without_recipes(wanted.findings)
    for one, other in zip(found.findings, wanted.findings, strict=True):
        assert one.recipe in (other.recipe, None)
    same = ("seed", "profile", "mode", "status", "exit_code", "streams", "families", "stopped_by")
    assert {name: found.run[name] for name in same} == {name: wanted.run[name] for name in same}
    assert verdict_line(found) == verdict_line(wanted)


def test_the_order_of_the_reports_does_not_matter():
    shards = shard_reports(run_of(3, 60), 4, seed=3)
    texts = {to_json(combine(order)) for order in itertools.permutations(shards)}
    assert len(texts) == 1


def test_what_was_combined_can_be_combined_again():
    shards = [
        replace(shard, notes=("common", *(["some"] if index in (1, 2) else ())))
        for index, shard in enumerate(shard_reports(run_of(5, 60), 4, seed=5))
    ]
    whole = combine(shards)
    halves = [combine(shards[:2], partial=True), combine([shards[3], shards[2]], partial=True)]
    assert [half.run["shard"] for half in halves] == ["0..1/4", "2..3/4"]
    again = combine(from_json(to_json(half)) for half in halves)
    assert replace(again, findings=()) == replace(whole, findings=())
    assert without_recipes(again.findings) == without_recipes(whole.findings)
    assert whole.notes == ("common", "shard 1..2/4: some")
    assert whole.run["shard"] == "0..3/4"


def test_the_recipe_is_kept_with_the_case_that_it_makes():
    found = [combine(shard_reports(run_of(seed, 60), 3, seed=seed)) for seed in range(20)]
    findings = [finding for report in found for finding in report.findings]
    kept = [finding for finding in findings if finding.recipe is not None]
    assert 0 < len(kept) < len(findings)
    assert all(finding.recipe == {"family": finding.family, "case": finding.case} for finding in kept)
    assert all(finding.case == finding.groups[0]["case"] for finding in findings)
    assert all(finding.family == finding.groups[0]["group"].split("/")[-1] for finding in findings)


def test_a_missing_shard_is_refused_unless_that_is_meant():
    shards = shard_reports(run_of(1, 40), 4, seed=1)
    with pytest.raises(ValueError, match=r"shard 0\.\.1,3/4 is missing"):
        combine(shards[2:3])
    found = combine(shards[1:], partial=True)
    assert found.run["shard"] == "1..3/4"
    assert found.notes[0] == "partial: shard 0/4 is missing"
    assert combine(shards, partial=True).notes == ()


def test_shards_that_are_there_twice_or_of_another_number_are_refused():
    shards = shard_reports(run_of(1, 40), 2, seed=1)
    with pytest.raises(ValueError, match="shard 1/2 is there twice"):
        combine([*shards, shards[1]])
    with pytest.raises(ValueError, match="of different runs"):
        combine([shards[0], *shard_reports(run_of(1, 40), 3, seed=1)])
    with pytest.raises(ValueError, match="no report"):
        combine([])


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("tool", "name", "another"),
        ("tool", "version", "9"),
        ("tool", "revision", "9"),
        ("subject", "name", "k"),
        ("subject", "source_sha256", "9"),
        ("bounds", "sha256", "9"),
        ("run", "seed", 9),
        ("run", "profile", "ci"),
        ("run", "max_cases", 9),
        ("run", "families", ["ties"] * 2),
        ("run", "dtypes", []),
        ("run", "laws", []),
        ("run", "mode", "device"),
        ("environment", "versions", {"torch": "9"}),
    ],
)
def test_reports_that_are_not_of_one_run_are_refused(part, name, value):
    first, second = shard_reports(run_of(1, 40), 2, seed=1)
    other = changed(second, part, **{name: value})
    for order in ((first, other), (other, first)):
        with pytest.raises(ValueError, match=rf"not shards of one run: {part}\.{name} is .* in 0/2 and"):
            combine(order)
    lacking = changed(second, part)
    del getattr(lacking, part)[name]
    with pytest.raises(ValueError, match=f"without {part}.{name}"):
        combine([first, lacking])


@pytest.mark.parametrize(
    ("statuses", "status", "exit_code"),
    [
        ((0, 0), "judged", 0),
        ((0, 1), "judged", 1),
        ((1, 130), "interrupted", 130),
        ((0, 5), "judged", 0),
        ((1, 5), "judged", 1),
        ((5, 5), "nothing judged", 5),
        ((5, 130), "interrupted", 130),
        ((0, 3), "judged", 3),
    ],
)
def test_the_worst_exit_code_is_that_of_the_whole(statuses, status, exit_code):
    named = {0: "judged", 1: "judged", 3: "judged", 5: "nothing judged", 130: "interrupted"}
    shards = [
        replace(shard, run={**shard.run, "exit_code": code, "status": named[code]})
        for shard, code in zip(shard_reports(run_of(1, 9), 2, seed=1), statuses, strict=True)
    ]
    for order in (shards, shards[::-1]):
        found = combine(order)
        assert (found.run["status"], found.run["exit_code"]) == (status, exit_code)
        assert ("shard 1/2 judged nothing" in found.notes) == (statuses[1] == 5 != statuses[0])


@pytest.mark.parametrize(("part", "name"), [("subject", "convention"), ("bounds", "used")])
def test_shards_of_another_convention_or_bounds_are_refused(part, name):
    first, second = shard_reports(run_of(1, 40), 2, seed=1)
    with pytest.raises(ValueError, match=rf"{part}\.{name} is not the same in all"):
        combine([first, changed(second, part, **{name: "another"})])


def test_the_whole_does_not_say_that_shards_are_missing():
    notes = [(f"shard {n}/2: {OF_A_SHARD}", "the corpus: odd") for n in range(2)]
    parts = [
        replace(part, notes=note)
        for part, note in zip(shard_reports(run_of(1, 40), 2, seed=1), notes, strict=True)
    ]
    assert combine(parts).notes == ("the corpus: odd",)
    assert any(OF_A_SHARD in note for note in combine(parts[:1], partial=True).notes)


def test_an_exit_code_that_no_report_has_is_refused():
    shards = shard_reports(run_of(1, 9), 2, seed=1)
    with pytest.raises(ValueError, match="exit code -9"):
        combine([shards[0], replace(shards[1], run={**shards[1].run, "exit_code": -9})])


def test_what_differs_between_shards_is_told_of_each():
    first, second = shard_reports(run_of(1, 40), 2, seed=1)
    second = replace(
        second,
        tool={**second.tool, "dirty": True},
        run={
            **second.run,
            "started": "2026-01-01T01:00:00+02:00",
            "finished": "2026-01-01T02:00:01+02:00",
            "workers": 3,
            "stopped_by": "budget",
        },
        environment={**second.environment, "device": "another", "variables": {"CUDA_X": "1"}},
        totals={**second.totals, "elapsed_s": 7.5, "planned": None},
        artifacts=({"path": "b", "sha256": "2"}, {"path": "a", "sha256": "1"}),
    )
    first = replace(first, artifacts=({"path": "c", "sha256": "3"}, {"path": "a", "sha256": "1"}))
    found = combine([first, second])
    assert found.tool["dirty"]
    assert found.run["started"] == second.run["started"]  # 23:00 the day before
    assert found.run["finished"] == first.run["finished"]
    assert (found.run["workers"], found.run["stopped_by"]) == (5, "budget")
    assert found.run["config"] == {"seed": {"value": 0, "source": "default"}}
    assert [part["argv"] for part in found.run["shards"]] == [["--shard", "0/2"], ["--shard", "1/2"]]
    assert found.environment["device"] == "another / cpu"
    assert found.environment["variables"] == {"CUDA_X": "1"}
    assert (found.totals["elapsed_s"], found.totals["planned"]) == (7.5, None)
    assert found.totals["outputs_per_s"] == round(found.totals["outputs"] / 7.5, 1)
    assert [file["path"] for file in found.artifacts] == ["a", "b", "c"]


def test_a_record_of_the_whole_may_be_of_any_shard():
    curves = ([[0, 0.0], [4, 0.5], [8, 0.7]], [[1, 0.1], [5, 0.5], [9, 0.9]])
    shards = [
        replace(shard, coverage={"discovery": curve, "hunt_discovery": [[3, 0.2 + index]]})
        for index, (shard, curve) in enumerate(zip(shard_reports([], 2, seed=1), curves, strict=True))
    ]
    found = combine(shards).coverage
    assert found["discovery"] == [[0, 0.0], [1, 0.1], [4, 0.5], [8, 0.7], [9, 0.9]]
    assert found["hunt_discovery"] == [[3, 1.2]]


def test_seconds_add_up_to_the_places_in_which_they_are_written():
    shards = [
        changed(shard, "totals", compile_s=seconds)
        for shard, seconds in zip(shard_reports([], 3, seed=1), (0.1, 0.2, 0.3), strict=True)
    ]
    assert combine(shards).totals["compile_s"] == 0.6


def test_seconds_without_end_do_not_break_a_rate():
    one = examples.report(totals={**examples.report().totals, "elapsed_s": 0.0, "outputs_per_s": math.inf})
    assert combine([one]).totals["outputs_per_s"] == 0.0


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("run", {"shard": 3}),
        ("run", {"shard": "0..x/2"}),
        ("run", {"started": "yesterday"}),
        ("run", {"started": "2026-01-01"}),
        ("run", {"streams": [1]}),
        ("run", {"shards": [{}]}),
        ("run", {"shards": 7}),
        ("run", {"workers": "two"}),
        ("run", {"config": []}),
        ("totals", {"values": "many"}),
        ("totals", {"laws": {"tail": 7}}),
        ("coverage", {"discovery": [[1, "high"]]}),
        ("coverage", {"cells": [1, 2]}),
        ("oracle", {"tiers": 3}),
    ],
)
def test_a_malformed_part_is_one_line(part, changes):
    first, second = shard_reports(run_of(1, 40), 2, seed=1)
    broken = changed(second, part, **changes)
    with pytest.raises(
        ValueError, match=r"malformed|wanted I/N|added up|isoformat|could not convert"
    ) as caught:
        combine([first, broken])
    assert "\n" not in str(caught.value)


def test_a_finding_that_does_not_name_its_groups_is_refused():
    one = examples.report(findings=(examples.finding(groups=()),))
    with pytest.raises(ValueError, match="does not say which groups"):
        combine([one])


def waiver(name):
    return {"id": name, "issue": "https://example.org/1", "review": "2027-01-01", "reason": "why"}


def test_a_waiver_that_one_shard_met_is_not_stale_in_the_whole():
    shards = shard_reports(run_of(1, 40), 2, seed=1)
    book = {"path": "known.toml", "sha256": "56" * 32, "overdue": [waiver("b")]}
    first = {**book, "hits": [waiver("a")], "stale": [waiver("b"), waiver("c")]}
    second = {**book, "hits": [waiver("b")], "stale": [waiver("a"), waiver("c")]}
    parts = [replace(shard, ledger=one) for shard, one in zip(shards, (first, second), strict=True)]
    wanted = {**book, "hits": [waiver("a"), waiver("b")], "stale": [waiver("c")]}
    for order in (parts, parts[::-1]):
        assert combine(from_json(to_json(part)) for part in order).ledger == wanted
    assert combine(shards).ledger == {}
    with pytest.raises(ValueError, match="different ledgers"):
        combine([parts[0], replace(parts[1], ledger={**second, "sha256": "78" * 32})])
    with pytest.raises(ValueError, match="different ledgers"):
        combine([parts[0], shards[1]])
