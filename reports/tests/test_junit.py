import xml.etree.ElementTree as ET
from dataclasses import replace

from reports.junit import to_junit
from reports.tests.examples import finding, full_report, report, stratum


def suites(made):
    root = ET.fromstring(to_junit(made))
    return root, {suite.get("name"): suite for suite in root}


def test_there_is_one_test_case_for_each_stratum_with_its_worst_error():
    made = report(strata=(stratum("a"), stratum("a", "float16", max_ulp=0.25), stratum("a", result="lse")))
    _, found = suites(made)
    cases = {(case.get("classname"), case.get("name")): case for case in found["strata"]}
    assert set(cases) == {
        ("strata.a", "float32 output stress"),
        ("strata.a", "float16 output stress"),
        ("strata.a", "float32 lse stress"),
    }
    properties = cases["strata.a", "float16 output stress"].find("properties")
    values = {one.get("name"): one.get("value") for one in properties}
    assert values["max_ulp"] == "0.25"
    assert values["margin"] == "0.995"
    assert values["witness"] == "0/1 at [0, 0, 3]"


def failing(**run):
    plain = report()
    return report(
        strata=(stratum("a"), stratum("b", failed=3, max_ulp=7.0)),
        findings=(finding(), finding(id="CRASH-1", kind="CRASH", result="")),
        run={**plain.run, "exit_code": 1, **run},
        totals={**plain.totals, "failed": 1},
    )


def test_what_is_wrong_fails_and_what_is_right_does_not():
    root, found = suites(failing())
    assert [case.find("failure") is not None for case in found["strata"]] == [False, True]
    assert "3 of 11 values are wrong; worst 7 ulp" in found["strata"][1].find("failure").get("message")
    assert [case.find("failure").get("message") for case in found["findings"]] == [
        "output is nan where 0.0 is right"
    ] * 2
    assert "replay  python -m verify.replay out/x" in found["findings"][0].find("failure").text
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "3", "errors": "0", "skipped": "0"}
    for suite in root:
        assert suite.get("tests") == str(len(suite))


def test_what_is_known_is_skipped():
    root, found = suites(replace(failing(), findings=(finding(issue="https://example.org/1"), finding())))
    assert found["findings"][0].find("skipped").get("message") == "known: https://example.org/1"
    assert found["findings"][1].find("failure") is not None
    root, _ = suites(failing(exit_code=0))  # as with a ledger that knows every finding
    assert (root.get("failures"), root.get("skipped")) == ("0", "3")


def test_a_run_without_a_verdict_is_an_error():
    for status, code in (("interrupted", 130), ("nothing judged", 5)):
        root, found = suites(report(run={**report().run, "status": status, "exit_code": code}))
        assert root.get("errors") == "1"
        assert found["run"][0].find("error").get("message") == status
    root, _ = suites(full_report())
    assert root.get("errors") == "0"


def test_a_run_that_failed_for_the_whole_alone_fails():
    root, found = suites(report(run={**report().run, "exit_code": 1}))
    assert root.get("failures") == "1"
    assert found["run"][0].find("failure") is not None


def test_hostile_text_makes_no_markup():
    nasty = 'a\0\x1b\ud800<b a="1">&]]>\ufffe'
    made = failing()
    made = replace(
        made, subject={**made.subject, "name": nasty}, findings=(finding(message=nasty, id=nasty),)
    )
    _, found = suites(made)
    case = found["findings"][0]
    assert case.get("name") == 'a\ufffd\ufffd\ufffd<b a="1">&]]>\ufffd'
    assert case.find("failure").text.startswith(case.get("name"))


def test_many_findings_are_counted_and_not_all_written():
    root, found = suites(replace(failing(), findings=(finding(),) * 5000))
    assert len(found["findings"]) == 1001
    assert found["findings"][-1].find("failure").get("message") == "4000 more findings are in report.json"
    assert int(root.get("failures")) == 1002
