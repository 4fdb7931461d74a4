import dataclasses
import json
import subprocess
import sys

import pytest

from reports.records import SCHEMA
from reports.serialize import from_json, to_json, write_text
from reports.tests.examples import finding, report, stratum


def test_a_report_reads_back_as_it_was_written():
    written = report(findings=(finding(), finding(ulp=float("inf"), bound=0.501)))
    read = from_json(to_json(written))
    assert read.strata == written.strata
    assert read.findings == written.findings
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


def test_a_report_without_one_of_its_parts_is_refused():
    whole = json.loads(to_json(report()))
    for part in ("strata", "findings", "totals", "run"):
        broken = {name: value for name, value in whole.items() if name != part}
        with pytest.raises(ValueError, match="missing or malformed"):
            from_json(json.dumps(broken))


def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path):
    file = tmp_path / "deep" / "report.json"
    write_text(file, "old")
    write_text(file, "new")
    assert file.read_text() == "new"
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


def test_reports_need_no_torch():
    check = (
        "import sys, reports.serialize, reports.markdown; "
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
