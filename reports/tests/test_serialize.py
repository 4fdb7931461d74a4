import dataclasses
import json
import subprocess
import sys

import pytest

from reports.records import SCHEMA
from reports.serialize import from_json, read_report, to_json, write_text
from reports.tests.examples import finding, report, stratum


def test_a_report_reads_back_as_it_was_written():
    written = report(findings=(finding(), finding(ulp=float("inf"), bound=0.501)), notes=("a note",))
    read = from_json(to_json(written))
    assert read.strata == written.strata
    assert read.findings == written.findings
    assert read.notes == ("a note",)
    assert to_json(read) == to_json(written)


def test_numbers_that_json_lacks_become_words():
    body = json.loads(to_json(report(findings=(finding(ulp=float("-inf")),))))
    assert body["schema"] == SCHEMA
    assert body["totals"]["outputs_per_s"] == "inf"
    assert body["findings"][0]["ulp"] == "-inf"
    assert "null" not in json.dumps(body["totals"])


def test_every_field_that_the_schema_names_for_a_stratum_is_there():
    row = json.loads(to_json(report()))["strata"][0]
    names = "family domain dtype result cases outputs max_ulp judged_ulp margin witness p50 p99 p99_9"
    assert set(names.split()) <= set(row)
    assert {"mean_signed_ulp", "misrounded_fraction", "histogram"} <= set(row)
    assert sum(row["histogram"]["counts"]) == stratum().numbers


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "breaks off"),
        ("[]", "schema 'list'"),
        ('{"schema": "other/9"}', "schema 'other/9'"),
        (json.dumps({"schema": SCHEMA}), "missing or malformed"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(text, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        from_json(text)
    assert "\n" not in str(caught.value)


def test_a_truncated_report_is_refused():
    text = to_json(report())
    for length in range(0, len(text) - 2, 97):
        with pytest.raises(ValueError, match="not a report"):
            from_json(text[:length])


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_lacks_is_refused_wherever_it_stands(constant):
    text = to_json(report()).replace('"workers": 2', f'"workers": {constant}')
    with pytest.raises(ValueError, match=f"damaged .{constant} is not JSON"):
        from_json(text)


def test_a_report_without_one_of_its_parts_is_refused():
    whole = json.loads(to_json(report()))
    for part in set(whole) - {"schema", "notes"}:
        broken = {name: value for name, value in whole.items() if name != part}
        with pytest.raises(ValueError, match="missing or malformed"):
            from_json(json.dumps(broken))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("run",), 7),
        (("run", "seed"), "7"),
        (("run", "seed"), True),
        (("run", "stopped_by"), None),
        (("totals", "cases"), 1.5),
        (("totals", "planned"), "all"),
        (("totals", "unsupported"), []),
        (("oracle", "bits"), None),
        (("coverage",), []),
        (("notes",), [7]),
        (("strata", 0, "cases"), 1.0),
        (("strata", 0, "sum_units"), 0.25),
        (("strata", 0, "numbers"), 11),
        (("strata", 0, "margin"), "nan"),
        (("strata", 0, "margin"), "large"),
        (("strata", 0, "witness"), 3),
        (("strata", 0, "family"), None),
        (("strata", 0, "histogram", "edges", 0), [0.1, 0.2]),
        (("strata", 0, "histogram", "edges", 0), [0.0]),
        (("findings", 0, "ulp"), "much"),
        (("findings", 0, "similar"), None),
        (("findings", 0, "message"), 1),
        (("findings", 0, "got"), {"dec": "1"}),
        (("findings", 0, "groups"), [{"group": "x"}]),
        (("findings", 0, "groups", 0, "first"), "1"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_one_line(path, value):
    body = json.loads(to_json(report(findings=(finding(),))))
    assert from_json(json.dumps(body))
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(ValueError, match="missing or malformed") as caught:
        from_json(json.dumps(body))
    assert "\n" not in str(caught.value)


def test_every_row_has_a_line_and_every_line_is_short():
    lines = to_json(report(findings=(finding(), finding()))).splitlines()
    assert sum(line.startswith('  {"family"') for line in lines) == 2
    assert sum(line.startswith('  {"id"') for line in lines) == 2


def test_a_file_that_holds_no_report_is_named(tmp_path):
    file = tmp_path / "report.json"
    for content in (b"", b"\xff\xfe", b"{}", b"[" * 100_000, b'{"schema": NaN}', b"9" * 5000):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{file}: ") as caught:
            read_report(file)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        read_report(tmp_path / "nosuch.json")


def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path):
    file = tmp_path / "deep" / "report.json"
    write_text(file, "old")
    write_text(file, "new")
    assert file.read_text() == "new"
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


def test_reports_need_no_torch():
    check = (
        "import sys, reports.serialize, reports.markdown, reports.__main__; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'triton', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-c", "import numpy; " + check], check=False).returncode == 1


def test_records_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(report(), "run", {})  # noqa: B010


def test_text_that_no_encoding_knows_does_not_cost_the_report(tmp_path):
    write_text(tmp_path / "summary.md", "lone \ud800 surrogate")
    assert (tmp_path / "summary.md").read_text() == "lone \\ud800 surrogate"
