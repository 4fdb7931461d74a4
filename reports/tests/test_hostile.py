"""Reports made to harm whoever draws them: they are drawn safely or refused in one line."""

import json
import random
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from reports.__main__ import main
from reports.conform import complaint
from reports.html import to_html
from reports.junit import to_junit
from reports.markdown import to_markdown, verdict_line
from reports.serialize import from_json, read_report, to_json
from reports.tests.examples import finding, full_report, report, stratum
from reports.tests.test_html import Page

NASTY = (
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</title></style></svg><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "]]>&amp;<!--",
    "$\\frac{1}{0$ \\x",
    "a\0b\x1b[31m\u202e\ud800\uffff",
    "| a | b |\n# c",
    "x" * 100_000,
    "",
)


def free_of_choice(whole, path=()):
    """Yield the paths of all strings of a report."""
    children = (
        whole.items() if isinstance(whole, dict) else enumerate(whole) if isinstance(whole, list) else ()
    )
    for name, child in children:
        yield from free_of_choice(child, (*path, name))
    if isinstance(whole, str):
        yield path


def hostile(rng, chance):
    """Return a report that conforms, with nasty text in many places."""
    body = json.loads(to_json(full_report()))
    for path in list(free_of_choice(body)):
        place = body
        for name in path[:-1]:
            place = place[name]
        before = place[path[-1]]
        if rng.random() < chance:
            place[path[-1]] = rng.choice(NASTY)
            if complaint(body):
                place[path[-1]] = before  # of a form that is checked
    return from_json(json.dumps(body))


@pytest.mark.parametrize("seed", range(2))
def test_hostile_text_is_text_in_every_rendering(seed):
    made = hostile(random.Random(seed), 0.9)
    texts = (made.subject["name"], made.findings[0].message, made.strata[0].key.family, made.notes[0])
    assert sum(text in NASTY for text in texts) >= 2
    page = Page(to_html(made, report()))
    assert not {"script", "img"} & set(page.tags)
    assert all(href.startswith(("#", "https://", "data:,")) for href in page.hrefs)
    assert page.tags.count("title") == 1
    ET.fromstring(to_junit(made))
    summary = to_markdown(made)
    assert len(summary.encode(errors="replace")) < 64 << 10
    # Only inside of code, which is indented.
    assert not [line for line in summary.splitlines() if "<script" in line and not line.startswith("    ")]
    assert summary.splitlines()[0].startswith("# FAIL ")
    assert verdict_line(made).count("\n") == 0


def test_a_script_in_the_name_of_the_kernel_is_shown_as_it_is():
    made = report(subject={**report().subject, "name": NASTY[0]})
    text = to_html(made)
    assert "<h1>PASS &lt;script&gt;alert(1)&lt;/script&gt;</h1>" in text
    assert "<script" not in text


def test_a_hundred_thousand_findings_are_drawn_in_seconds_and_few_bytes(tmp_path):
    many = tuple(finding(id=f"SPURIOUS_NAN-{i}", message="x" * 300) for i in range(100_000))
    made = report(findings=many, strata=tuple(stratum(f"f{i}") for i in range(3000)))
    start = time.process_time()
    page, junit, summary = to_html(made, made), to_junit(made), to_markdown(made)
    assert time.process_time() - start < 20
    assert len(page.encode()) < 4 << 20
    assert len(junit.encode()) < 8 << 20
    assert len(summary.encode()) < 64 << 10


@pytest.mark.parametrize(
    "change",
    [
        {"max_ulp": float("inf"), "margin": float("inf"), "judged_ulp": float("inf"), "bound": float("inf")},
        {"max_ulp": 1e308, "margin": 1e308, "sum_units": 10**300},
        {"max_ulp": 0.0, "margin": 0.0, "judged_ulp": 0.0, "sum_units": -(10**300)},
        {"outputs": 0, "numbers": 0, "misrounded": 0, "counts": (0,) * len(stratum().counts)},
        {"failed": 2**62, "outputs": 2**62},
    ],
)
def test_numbers_at_the_edge_are_drawn(change):
    made = from_json(to_json(report(strata=(stratum(**change), stratum(result="lse", **change)))))
    Page(to_html(made, made))
    to_junit(made)
    to_markdown(made, report())


REFUSED = {
    "NaN where a number belongs": ('"margin": 0.995', '"margin": NaN'),
    "NaN as a word": ('"margin": 0.995', '"margin": "nan"'),
    "a number beyond all floats": ('"margin": 0.995', '"margin": 1e999'),
    "a text where a number belongs": ('"outputs": 11', '"outputs": "11"'),
    "null where a number belongs": ('"max_ulp": 0.499', '"max_ulp": null'),
    "a negative count": ('"outputs": 11', '"outputs": -11'),
    "a huge count": ('"outputs": 11', '"outputs": ' + "9" * 4000),
    "a sum beyond all floats": ('"sum_units": 1073741824', '"sum_units": ' + "9" * 400),
    "an unknown kind of finding": ('"kind": "SPURIOUS_NAN"', '"kind": "<b>"'),
    "another schema": ("mla-merge-report/1", "mla-merge-report/2"),
    "a list where a record belongs": ('"environment": {', '"environment": [], "e": {'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_report_is_refused_in_one_line(what, tmp_path, capsys):
    text = to_json(report(findings=(finding(),)))
    old, new = REFUSED[what]
    assert old in text
    file = tmp_path / "report.json"
    file.write_text(text.replace(old, new, 1))
    assert main(["render", str(file)]) == 3
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {file}: not a report")
    assert (said.err.count("\n"), said.out) == (1, "")
    assert len(said.err) < 500
    assert list(tmp_path.iterdir()) == [file]


def test_a_truncated_report_is_refused(tmp_path, capsys):
    text = to_json(full_report())
    file = tmp_path / "report.json"
    for length in (0, 1, len(text) // 2, len(text) - 3):
        file.write_text(text[:length])
        assert main(["render", str(file)]) == 3
        assert capsys.readouterr().err.count("\n") == 1


def test_what_a_later_version_may_add_is_passed_over(tmp_path):
    body = json.loads(to_json(full_report()))
    body["nosuch"] = {"a": [1]}
    for row in (body["run"], body["strata"][0], body["findings"][0], body["findings"][1]["got"]):
        row["nosuch"] = "<b>"
    file = tmp_path / "report.json"
    file.write_text(json.dumps(body))
    read = read_report(file)
    assert replace(read, run=full_report().run) == replace(
        from_json(to_json(full_report())), run=full_report().run
    )
    Page(to_html(read))


def test_a_report_nested_beyond_reason_is_refused(tmp_path, capsys):
    text = to_json(report(findings=(finding(),)))
    for depth in (500, 100_000):
        file = tmp_path / "report.json"
        deep = "[" * depth + "]" * depth
        file.write_text(text.replace('"recipe": {"family": "empties"}', f'"recipe": {{"a": {deep}}}'))
        assert main(["render", str(file)]) in (0, 3)
        assert main(["combine", str(file), "--out", str(tmp_path / "all")]) in (0, 1, 2, 3)
        assert capsys.readouterr().err.count("Traceback") == 0
