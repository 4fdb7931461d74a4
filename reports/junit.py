"""A report as JUnit XML: a test case for each stratum, one for each finding, one for the run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from reports.markdown import finding_lines, verdict_line
from reports.records import Finding, Report, gating_notes
from reports.strata import Stratum

_FINDINGS = 1000  # test cases; what comes after is counted by one more
_TEXT = 10_000
_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot say, not even escaped."""


def to_junit(report: Report) -> str:
    """Write the report for a CI system; what is known (by an issue, or as the run passed) is skipped."""
    passed = report.run["exit_code"] == 0
    root = ET.Element("testsuites", name=_legal(f"merge verification of {report.subject['name']}"))
    _suite(root, "run", [_run(report)], report)
    _suite(root, "strata", [_stratum(stratum, passed=passed) for stratum in report.strata], report)
    _suite(root, "findings", _findings(report.findings, passed=passed), report)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _suite(root: ET.Element, name: str, cases: Sequence[ET.Element], report: Report) -> None:
    counts = {
        plural: str(sum(case.find(kind) is not None for case in cases))
        for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    seconds = report.totals["elapsed_s"] if name == "run" else 0.0
    about = {"name": name, "tests": str(len(cases)), "time": f"{seconds:.3f}"}
    suite = ET.SubElement(root, "testsuite", {**about, **counts, "timestamp": _legal(report.run["started"])})
    suite.extend(cases)


def _run(report: Report) -> ET.Element:
    case = _case("run", report.subject["name"])
    _properties(
        case,
        {
            "profile": report.run["profile"],
            "seed": report.run["seed"],
            "mode": report.run["mode"],
            "device": report.environment["device"],
            "cases": report.totals["cases"],
            "outputs": report.totals["outputs"],
        },
    )
    if report.run["status"] != "judged":
        _complain(case, "error", report.run["status"], verdict_line(report))
    elif report.run["exit_code"] == 1 and (not report.totals["failed"] or gating_notes(report)):
        _complain(case, "failure", verdict_line(report), "\n".join(gating_notes(report) or report.notes))
    return case


def _stratum(stratum: Stratum, *, passed: bool) -> ET.Element:
    key = stratum.key
    case = _case(f"strata.{key.family}", f"{key.dtype} {key.result} {key.domain}")
    _properties(
        case,
        {
            "max_ulp": stratum.max_ulp,
            "judged_ulp": stratum.judged_ulp,
            "margin": stratum.margin,
            "bound": stratum.bound,
            "outputs": stratum.outputs,
            "failed": stratum.failed,
            "witness": stratum.witness,
        },
    )
    if stratum.failed:
        said = (
            f"{stratum.failed} of {stratum.outputs} values are wrong; worst {stratum.max_ulp:.6g} ulp, "
            f"margin {stratum.margin:.6g}, at {stratum.witness}"
        )
        _complain(case, "skipped" if passed else "failure", f"known: {said}" if passed else said, said)
    return case


def _findings(findings: Sequence[Finding], *, passed: bool) -> list[ET.Element]:
    cases = []
    for finding in findings[:_FINDINGS]:
        case = _case(f"findings.{finding.kind}", finding.id)
        text = "\n".join((finding.message, *finding_lines(finding)))
        if finding.issue:
            _complain(case, "skipped", f"known: {finding.issue}", text)
        else:
            _complain(case, "skipped" if passed else "failure", finding.message, text)
        cases.append(case)
    more = len(findings) - _FINDINGS
    if more > 0:
        cases.append(_case("findings", "more"))
        _complain(cases[-1], "failure", f"{more} more findings are in report.json", "")
    return cases


def _case(classname: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_legal(classname), name=_legal(name), time="0")


def _properties(case: ET.Element, values: Mapping[str, object]) -> None:
    properties = ET.SubElement(case, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=_legal(str(value)))


def _complain(case: ET.Element, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, kind, message=_legal(message)[:500]).text = _legal(text)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("�", text[:_TEXT])
