"""Waivers: what they hide, what they must not, and how they end."""

from dataclasses import replace
from datetime import date

import pytest

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.serialize import from_json, to_json
from reports.tests.examples import finding, report
from verify.laws import LAWS
from verify.ledger import Ledger, Waiver, complaints, read_ledger, waive

TODAY = date(2026, 6, 1)
NAN, LSE = "SPURIOUS_NAN-0123456789", "WRONG_LSE-abcdef0123"
ENTRY = f"""[[known]]
id = "{NAN}"
kernel = "mla_merge"
issue = "https://example.org/1"
review = 2026-06-01
reason = "it is being mended"
"""


def waiver(name=NAN, **changes):
    values = {
        "id": name,
        "kernel": "mla_merge",
        "issue": "https://example.org/1",
        "review": date(2026, 6, 1),
        "reason": "it is being mended",
    }
    return Waiver(**{**values, **changes})


def ledger(*waivers):
    return Ledger(path="known.toml", sha256="ab" * 32, waivers=waivers)


def failing(*findings, failed=3, **run):
    """A whole run with these findings."""
    plain = report()
    whole = {
        "families": ["corpus", *DRAWN, "hunt"],
        "dtypes": list(FORMATS),
        "laws": list(LAWS),
        "exit_code": int(failed > 0),
    }
    return replace(
        plain,
        run={**plain.run, **whole, **run},
        totals={**plain.totals, "failed": failed},
        findings=findings,
    )


def test_a_known_finding_is_counted_linked_and_fails_nothing():
    waived = waive(failing(finding(similar=3)), ledger(waiver()), today=TODAY)
    assert (waived.totals["failed"], waived.totals["known"], waived.run["exit_code"]) == (0, 3, 0)
    assert waived.findings[0].issue == "https://example.org/1"
    assert [entry["id"] for entry in waived.ledger["hits"]] == [NAN]
    assert (waived.ledger["path"], waived.ledger["sha256"]) == ("known.toml", "ab" * 32)
    assert waived.ledger["stale"] == []
    assert complaints(waived) == ()


def test_another_finding_still_fails():
    both = failing(finding(similar=3), finding(id=LSE, similar=2), failed=4)
    waived = waive(both, ledger(waiver()), today=TODAY)
    # Of four failing cases two at most showed the other one.
    assert (waived.totals["failed"], waived.totals["known"], waived.run["exit_code"]) == (2, 2, 1)
    assert [found.issue for found in waived.findings] == ["https://example.org/1", ""]


def test_a_case_that_may_have_shown_another_finding_is_not_known():
    both = failing(finding(similar=3), finding(id=LSE, similar=3), failed=3)
    waived = waive(both, ledger(waiver()), today=TODAY)
    assert (waived.totals["failed"], waived.totals["known"], waived.run["exit_code"]) == (3, 0, 1)


def test_a_waiver_that_matches_nothing_fails_the_run():
    waived = waive(failing(failed=0), ledger(waiver()), today=TODAY)
    assert waived.run["exit_code"] == 1
    assert [entry["id"] for entry in waived.ledger["stale"]] == [NAN]
    assert "matches no finding any more: take it out of known.toml" in complaints(waived)[0]
    assert any(complaints(waived)[0] in note for note in waived.notes)


@pytest.mark.parametrize(
    ("narrowing", "said"),
    [
        ({"stopped_by": "budget"}, "stopped by budget"),
        ({"status": "interrupted", "stopped_by": "interrupt", "exit_code": 130}, "stopped by interrupt"),
        ({"shard": "1/4"}, "shard 1/4"),
        ({"max_cases": 12}, "--max-cases 12"),
        ({"families": ["ties"]}, "without corpus, producer"),
        ({"dtypes": ["float32"]}, "without float16"),
        ({"laws": []}, "without repeat"),
    ],
)
def test_a_run_that_left_cases_out_calls_no_waiver_stale(narrowing, said):
    waived = waive(failing(failed=0, **narrowing), ledger(waiver()), today=TODAY)
    assert waived.run["exit_code"] == narrowing.get("exit_code", 0)
    assert [entry["id"] for entry in waived.ledger["stale"]] == [NAN]
    assert complaints(waived) == ()
    assert said in waived.notes[-1]


def test_the_whole_of_all_shards_does():
    whole = failing(failed=0, shard="0..3/4", shards=[])
    assert waive(whole, ledger(waiver()), today=TODAY).run["exit_code"] == 1
    partial = replace(whole, notes=("partial: shard 2/4 is missing",))
    assert waive(partial, ledger(waiver()), today=TODAY).run["exit_code"] == 0


def test_a_review_is_due_after_its_day():
    found = failing(finding(similar=3))
    assert waive(found, ledger(waiver()), today=date(2026, 6, 1)).run["exit_code"] == 0
    late = waive(found, ledger(waiver()), today=date(2026, 6, 2))
    assert late.run["exit_code"] == 1
    assert (late.totals["failed"], late.totals["known"]) == (0, 3)
    assert "was to be reviewed by 2026-06-01" in complaints(late)[0]


def test_a_waiver_of_another_kernel_neither_hides_nor_goes_stale():
    other = ledger(waiver(kernel="other.py:merge", review=date(2000, 1, 1)))
    waived = waive(failing(finding(similar=3)), other, today=TODAY)
    assert (waived.totals["failed"], waived.run["exit_code"]) == (3, 1)
    assert waive(failing(failed=0), other, today=TODAY).run["exit_code"] == 0


def test_a_kernel_goes_by_its_import_path_too():
    named = ledger(waiver(kernel="mla_merge:merge"))
    assert waive(failing(finding(similar=3)), named, today=TODAY).totals["known"] == 3


@pytest.mark.parametrize("code", [3, 5, 130])
def test_what_is_no_verdict_stays_none(code):
    status = {5: "nothing judged", 130: "interrupted"}.get(code, "judged")
    run = failing(finding(similar=3), exit_code=code, status=status)
    assert waive(run, ledger(waiver()), today=TODAY).run["exit_code"] == code


def test_to_waive_again_gives_what_it_would_have_given_at_once():
    found = failing(finding(similar=3), finding(id=LSE, similar=2), failed=4)
    once, both = ledger(waiver(), waiver(LSE)), ledger(waiver(LSE))
    first = waive(found, once, today=TODAY)
    assert first.totals["known"] == 4
    assert waive(first, once, today=TODAY) == first
    assert waive(first, both, today=TODAY) == waive(found, both, today=TODAY)
    late = date(2030, 1, 1)
    assert waive(waive(found, once, today=late), once, today=late) == waive(found, once, today=late)


def test_a_waived_report_survives_its_file():
    waived = waive(failing(finding(similar=3)), ledger(waiver()), today=TODAY)
    read = from_json(to_json(waived))
    assert (read.ledger, read.findings, read.run) == (waived.ledger, waived.findings, waived.run)


def test_a_file_is_read_with_its_digest(tmp_path):
    file = tmp_path / "known.toml"
    file.write_text(ENTRY + "\n" + ENTRY.replace(NAN, LSE))
    read = read_ledger(file)
    assert read.waivers == (waiver(), waiver(LSE))
    assert len(read.sha256) == 64
    file.write_text("")
    assert read_ledger(file).waivers == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[known]", "is no TOML"),
        ("[[waived]]", "has waived at its top, wanted tables [[known]] alone"),
        ("known = 3", "has known at its top"),
        ("known = [3]", "entry 1 of [[known]]: it is 3, wanted a table of id, kernel, issue, review, reason"),
        (ENTRY.replace("reason", "because"), "reason is missing"),
        (ENTRY + "more = 1", "'more' is unknown"),
        (ENTRY.replace('"mla_merge"', "3"), "kernel is 3, wanted some text"),
        (ENTRY.replace('"it is being mended"', '" "'), "reason is ' ', wanted some text"),
        (ENTRY.replace(NAN, "SPURIOUS_NAN"), "wanted a finding's, as WRONG_LSE-4d2f710566"),
        (ENTRY.replace("SPURIOUS_NAN", "SPURIOUS_NUN"), "wanted a finding's"),
        (ENTRY.replace("https://example.org/1", "issue 1"), "wanted a link"),
        (ENTRY.replace("2026-06-01", '"2026-06-01"'), "review is '2026-06-01', wanted a date without quotes"),
        (ENTRY.replace("2026-06-01", "2026-06-01T12:00:00"), "review is 2026-06-01T12:00:00, wanted a date"),
        (ENTRY + ENTRY.replace("example.org/1", "example.org/2"), f"{NAN} of mla_merge is there twice"),
        (ENTRY + ENTRY.replace(NAN, "x"), "entry 2 of [[known]]: id is 'x'"),
    ],
)
def test_a_bad_file_is_named_in_one_line(tmp_path, text, complaint):
    file = tmp_path / "known.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"known\.toml") as caught:
        read_ledger(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named_in_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be read \(No such file"):
        read_ledger(tmp_path / "nosuch.toml")
