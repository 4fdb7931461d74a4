"""The reader's own check of a report's JSON, held against jsonschema."""

import copy
import json
from typing import Any

import jsonschema
import pytest

from reports.conform import complaint
from reports.serialize import to_json
from reports.tests.examples import finding, full_report, report
from reports.tests.test_schema import BROKEN, SCHEMA, VALIDATOR

PLAIN = json.loads(to_json(report(findings=(finding(),))))
WHOLE = json.loads(to_json(full_report()))


def places(value, path=()):
    """Yield the path of every value in a report."""
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield from places(child, (*path, name))


def with_value(path, value, whole=WHOLE):
    body = {**whole, path[0]: copy.deepcopy(whole[path[0]])}
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return body


def test_a_report_with_every_part_conforms():
    assert complaint(WHOLE) == ""
    assert list(VALIDATOR.iter_errors(WHOLE)) == []
    assert set(SCHEMA["properties"]) == set(WHOLE)


# What JSON may hold where something else is wanted; whole numbers with a point are another matter, see there.
SUBSTITUTES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    "",
    "nan",
    "inf",
    "float32",
    [],
    {},
    [["x"]],
    {"x": None},
)


@pytest.mark.parametrize("part", sorted(WHOLE))
def test_each_substitute_at_each_place_is_judged_as_by_jsonschema(part):
    # The part alone, and of its rows the last, which has the most in it: jsonschema is slow.
    of_part = jsonschema.Draft202012Validator({**SCHEMA["properties"][part], "$defs": SCHEMA["$defs"]})
    rows = WHOLE[part][-1:] if isinstance(WHOLE[part], list) else WHOLE[part]
    ours = {**WHOLE, part: rows}
    tried = 0
    for path in places(rows, (part,)):
        for value in SUBSTITUTES:
            body = with_value(path, value, ours)
            theirs = [error.validator for error in of_part.iter_errors(body[part])]
            wrong = any(validator != "additionalProperties" for validator in theirs)
            assert bool(complaint(body)) == wrong, (path, value, complaint(body), theirs)
            tried += 1
    assert tried >= len(SUBSTITUTES)


@pytest.mark.parametrize(("path", "value"), BROKEN)
def test_the_complaint_names_the_place(path, value):
    if path == ("nosuch",):
        assert complaint({**WHOLE, "nosuch": value}) == ""  # of a later version
        return
    if path[-1] == "sum_ulp":
        return
    said = complaint(with_value(path, value, PLAIN))
    assert said.startswith(f".{path[0]}")
    assert len(said) < 300


def test_what_is_missing_is_named():
    lacking = {name: value for name, value in WHOLE.items() if name != "totals"}
    assert complaint(lacking) == ".totals is missing"


def test_a_number_that_nobody_can_draw_is_refused():
    for value in (float("inf"), float("-inf"), float("nan"), 1 << 10_000, 2**63):
        said = complaint(with_value(("totals", "cases"), value))
        assert said.startswith(".totals.cases is ")
        assert len(said) < 100
    for value in (float("inf"), float("nan")):
        assert complaint(with_value(("strata", 0, "max_ulp"), value)).startswith(".strata[0].max_ulp is ")


def test_a_whole_number_has_no_point():
    assert ".totals.cases" in complaint(with_value(("totals", "cases"), 7.0))
