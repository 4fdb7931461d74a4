import pytest

from reports.github import ANNOTATIONS, add_summary, annotate, wanted
from reports.render import publish
from reports.tests.examples import finding, report


@pytest.mark.parametrize(
    ("mode", "environment", "answer"),
    [
        ("auto", {}, False),
        ("auto", {"GITHUB_ACTIONS": "true"}, True),
        ("auto", {"GITHUB_ACTIONS": "false"}, False),
        ("off", {"GITHUB_ACTIONS": "true"}, False),
        ("on", {}, True),
    ],
)
def test_a_run_speaks_to_github_when_asked_or_inside_a_workflow(mode, environment, answer):
    assert wanted(mode, environment) is answer


def failing(count, **changes):
    findings = tuple(finding(id=f"SPURIOUS_NAN-{i}", message=f"fault {i}", **changes) for i in range(count))
    return report(findings=findings, run={**report().run, "exit_code": 1})


def test_the_summary_is_added_to_what_stands_there(tmp_path):
    file = tmp_path / "summary"
    file.write_text("before\n")
    add_summary(failing(1), {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.read_text().startswith("before\n# FAIL mla_merge")
    add_summary(failing(1), {})


@pytest.mark.parametrize("count", [1, ANNOTATIONS, ANNOTATIONS + 1, 5000])
def test_there_are_at_most_ten_annotations_and_the_last_counts_the_rest(count):
    lines = annotate(failing(count))
    assert len(lines) == min(count, ANNOTATIONS)
    assert lines[0].startswith("::error title=SPURIOUS_NAN in output%2C empties::fault 0%0Apython -m verify")
    said = [line for line in lines if "more findings stand" in line]
    assert len(said) == (count > ANNOTATIONS)
    assert all(f"::{count - ANNOTATIONS + 1} more" in line for line in said)


def test_a_passing_run_says_nothing_and_one_without_a_verdict_does():
    assert annotate(report()) == []
    stopped = report(run={**report().run, "status": "interrupted", "exit_code": 130})
    assert annotate(stopped)[0].startswith("::error title=interrupted::INTERRUPTED mla_merge")


def test_what_is_new_comes_before_what_is_known():
    made = report(findings=(finding(issue="https://example.org/1"), finding(message="new")))
    lines = annotate(made)
    assert lines[0].startswith("::error ")
    assert "new" in lines[0]
    assert lines[1].startswith("::warning ")
    assert "(known: https://example.org/1)" in lines[1]


def test_hostile_text_makes_no_second_command():
    nasty = "100%\n::stop-commands::x\r::error::y\u2028\x1b[2J"
    (line,) = annotate(report(findings=(finding(family=nasty, message=nasty),)))
    assert line.startswith("::error title=SPURIOUS_NAN in output%2C 100%25%0A%3A%3Astop-commands%3A%3Ax")
    assert line.isprintable()
    assert line.count("::error") == 2  # its own, and the one that is text now


def test_publishing_writes_what_was_asked_for_and_nothing_else(tmp_path):
    summary = tmp_path / "summary"
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    made = failing(2)
    assert publish(made, environment=environment) == []
    assert list(tmp_path.iterdir()) == []
    lines = publish(made, junit=tmp_path / "deep" / "j.xml", to_github="auto", environment=environment)
    assert len(lines) == 2
    assert summary.read_text().startswith("# FAIL")
    assert (tmp_path / "deep" / "j.xml").read_text().startswith("<?xml")
    assert not (tmp_path / "report.html").exists()
    publish(made, html=tmp_path / "report.html", environment={})
    assert "FAIL mla_merge" in (tmp_path / "report.html").read_text()
