"""The published schema describes the reports that are written, and nothing else."""

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest

from reports.combine import combine
from reports.records import Finding, Report
from reports.regimes import Regime
from reports.serialize import from_json, to_json
from reports.strata import Stratum
from reports.tests import examples
from reports.tests.model import case, reported, shard_reports

HERE = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((HERE / "schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def complaints(text):
    return [error.json_path for error in VALIDATOR.iter_errors(json.loads(text))]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_committed_reports_are_of_the_schema():
    committed = [file for file in HERE.glob("*/*.json") if '"mla-merge-report/1"' in file.read_text()[:99]]
    assert committed
    for file in committed:
        assert complaints(file.read_text()) == [], file
        assert to_json(from_json(file.read_text())) == file.read_text()


@pytest.mark.parametrize("seed", range(3))
def test_made_up_reports_and_their_combinations_are_of_the_schema(seed):
    cases = [case(seed, number) for number in range(30)]
    shards = [replace(shard, notes=("a note",)) for shard in shard_reports(cases, 3, seed=seed)]
    laptop = replace(shards[0], environment={**shards[0].environment, "cpus": 8})
    whole = combine([laptop, *shards[1:]])
    partial = combine(shards[:2], partial=True)
    for report in (reported(cases, seed=seed), *shards, whole, partial, reported([], seed=seed)):
        assert complaints(to_json(report)) == []


def test_a_report_with_every_optional_part_is_of_the_schema():
    number = examples.finding().exact
    bare = {"recipe": None, "where": None, "got": None, "exact": None, "groups": (), "result": ""}
    measured = {"got": number, "ulp": float("-inf"), "steps": 2**63 - 1, "bound": 0.501}
    plain = examples.report(
        findings=(examples.finding(**bare), examples.finding(**measured)),
        coverage={"cases": {}, "cells": {"a": 1}, "discovery": [[0, 0.0]], "hunt_discovery": []},
        artifacts=({"path": "a", "sha256": "0"},),
        notes=("one line",),
    )
    assert complaints(to_json(plain)) == []


BROKEN = [
    (("schema",), "mla-merge-report/2"),
    (("nosuch",), 1),
    (("tool", "dirty"), "no"),
    (("run", "shard"), "1"),
    (("run", "shard"), "1/0"),
    (("run", "status"), "passed"),
    (("run", "exit_code"), 2),
    (("run", "max_cases"), 0),
    (("run", "shards"), [{}]),
    (("run", "mode"), "simulate"),
    (("run", "streams", "drawn"), -1),
    (("run", "config", "seed"), 7),
    (("environment", "cpus"), 1.5),
    (("subject", "source_sha256"), "12" * 31),
    (("oracle", "certified_fraction"), 1.5),
    (("oracle", "tiers", "exact"), "11"),
    (("bounds", "sha256"), None),
    (("totals", "planned"), -1),
    (("totals", "cases"), 1.5),
    (("totals", "unsupported"), ["S"]),
    (("totals", "laws", "tail"), {"cases": 1}),
    (("totals", "elapsed_s"), "nan"),
    (("strata", 0, "result"), "logits"),
    (("strata", 0, "dtype"), "float64"),
    (("strata", 0, "domain"), "both"),
    (("strata", 0, "margin"), "nan"),
    (("strata", 0, "max_ulp"), -0.5),
    (("strata", 0, "sum_units"), 0.5),
    (("strata", 0, "sum_ulp"), 0.5),
    (("strata", 0, "histogram", "counts", 0), 0),
    (("strata", 0, "histogram", "edges", 0), [0.0]),
    (("strata", 0, "histogram", "edges", 0), [0.0, 1.0, 2.0]),
    (("findings", 0, "kind"), "WRONG"),
    (("findings", 0, "where"), {"token": 1}),
    (("findings", 0, "exact", "bits"), "0x0"),
    (("findings", 0, "ulp"), "much"),
    (("findings", 0, "similar"), 0),
    (("findings", 0, "shape", "S"), 0),
    (("findings", 0, "groups", 0, "first"), -1),
    (("findings", 0, "values", "L"), 7),
    (("findings", 0, "repro", "command"), None),
    (("coverage", "cases", "ties float32"), 0.5),
    (("coverage", "discovery"), [[1]]),
    (("coverage", "discovery"), [[1, 0.5, 2]]),
    (("artifacts",), [{"path": "a"}]),
    (("notes",), ["two\nlines"]),
]


@pytest.mark.parametrize(("path", "value"), BROKEN)
def test_a_broken_report_is_refused_where_it_is_broken(path, value):
    body = json.loads(to_json(examples.report(findings=(examples.finding(),))))
    assert complaints(json.dumps(body)) == []
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    found = complaints(json.dumps(body))
    assert found
    assert all(complaint.startswith(f"$.{path[0]}" if len(path) > 1 else "$") for complaint in found)


def test_every_part_of_a_row_is_needed():
    body = json.loads(to_json(examples.report(findings=(examples.finding(),))))
    rows = {"strata": body["strata"][0], "findings": body["findings"][0]}
    for part, row in rows.items():
        for name in row:
            lacking = {key: value for key, value in row.items() if key != name}
            assert complaints(json.dumps({**body, part: [lacking]})), (part, name)
    for part in body:
        assert complaints(json.dumps({key: value for key, value in body.items() if key != part})), part


def test_the_readme_names_every_field():
    text = (HERE / "README.md").read_text()
    records = {item.name for record in (Stratum, Regime, Finding) for item in fields(record)} - {
        "key",
        "counts",
    }
    of_parts = {
        name for part in ("run", "totals", "coverage") for name in SCHEMA["properties"][part]["properties"]
    }
    assert {name for name in records | of_parts if f"`{name}`" not in text} == set()
    records |= set(SCHEMA["properties"]["regimes"]["items"]["properties"])
    parts = [item.name for item in fields(Report)]
    assert [name for name in parts if f"| `{name}" not in text] == []
