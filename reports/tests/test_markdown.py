from reports.markdown import finding_lines, to_markdown, verdict_line
from reports.tests.examples import finding, report, stratum


def totals(**changes):
    return {**report().totals, **changes}


def test_the_verdict_is_one_line_with_the_documented_fields():
    line = verdict_line(report(totals=totals(outputs=13_000_000, cases=20000)))
    assert line == (
        "PASS mla_merge cases 20000 outputs 1.3e7 worst margin 0.999 judged 0.4900 ulp lse 0.5000 ulp "
        "fail 0 known 0 unsupported 0 seed 0"
    )


def test_the_verdict_fails_when_a_case_failed_and_never_passes_when_nothing_was_judged():
    assert verdict_line(report(totals=totals(failed=2))).startswith("FAIL ")
    nothing = report(run={**report().run, "status": "nothing judged"})
    assert verdict_line(nothing).startswith("NOTHING JUDGED ")
    stopped = report(run={**report().run, "status": "interrupted"})
    assert verdict_line(stopped).startswith("INTERRUPTED ")


def test_a_finding_shows_inputs_values_place_error_and_the_command():
    lines = "\n".join(finding_lines(finding(ulp=2.5, steps=3, bound=0.501)))
    for part in ("T=1 H=1 S=1 R=1 tile=1", "token 0 head 0 column 0", "[-inf]", "nan", "0x00000000"):
        assert part in lines
    assert "2.5 ulp, 3 steps, bound 0.501" in lines
    assert "python -m verify.replay out/x" in lines


def test_hostile_text_stays_inside_its_cell():
    text = to_markdown(report(subject={**report().subject, "import_path": "a|b\n# c<script>"}))
    assert "a\\|b # c&lt;script>" in text


def test_a_summary_of_many_findings_and_strata_stays_small():
    many = report(
        strata=tuple(stratum(family=f"family{i}") for i in range(3000)),
        findings=tuple(finding(message="x" * 200) for _ in range(5000)),
    )
    text = to_markdown(many)
    assert len(text.encode()) < 64 * 1024
    assert "4980 more" in text


def test_a_summary_of_endless_values_stays_small():
    endless = finding(values={f"m[{i}]": "9" * 500 for i in range(1000)}, message="x" * 10_000)
    text = to_markdown(report(findings=(endless,) * 30, notes=("n" * 10_000,) * 1000))
    assert len(text.encode()) < 64 * 1024
    assert "988 more values" in text
    assert text.rstrip().endswith("and more in report.json.") or len(text.encode()) < 60_000


def test_errors_are_summed_up_by_dtype_and_lse_apart():
    text = to_markdown(report(strata=(stratum(), stratum("empties"), stratum(result="lse"))))
    assert "| float32 | stress | 22 |" in text
    assert "| lse | stress | 11 |" in text


def test_what_failed_comes_before_what_came_close():
    close = [stratum(family=f"close{i}", margin=0.99) for i in range(60)]
    text = to_markdown(report(strata=(*close, stratum(family="failing", margin=0.1, failed=3))))
    rows = text[text.index("## Worst strata") :].splitlines()
    assert "failing" in rows[4]


def test_huge_margins_stay_readable():
    assert "worst margin 1.424e+45 " in verdict_line(report(strata=(stratum(margin=1.424e45),)))


def test_notes_stand_below_the_verdict_before_all_else():
    text = to_markdown(report(notes=("judge\nby | fp32 <b>", *["more"] * 50)))
    lines = text.splitlines()
    assert lines[2] == "> note: judge by \\| fp32 &lt;b>"
    assert text.count("> note") == 20


def test_what_was_not_judged_is_shown_by_reason_the_most_frequent_first():
    reasons = {"S outside pow2": 3, "dtype float16": 70, **{f"reason {i}": 1 for i in range(30)}}
    text = to_markdown(report(totals=totals(unsupported=reasons, out_of_domain={"overflow": 5})))
    rows = text[text.index("## Unsupported") :].splitlines()
    assert rows[4:6] == ["| dtype float16 | 70 |", "| S outside pow2 | 3 |"]
    assert "| 12 other reasons | 12 |" in rows
    assert "## Out of domain\n\n| reason | rows |\n| --- | --- |\n| overflow | 5 |" in text
    plain = to_markdown(report())
    assert "Unsupported" not in plain
    assert "domain\n" not in plain
    assert "Laws" not in plain


def test_laws_are_shown_with_how_often_they_spoke():
    text = to_markdown(report(totals=totals(laws={"tail": {"cases": 4, "rows": 0}})))
    assert "| law | cases | rows it spoke of |\n| --- | --- | --- |\n| tail | 4 | 0 |" in text


def test_the_setting_tells_shard_streams_and_search():
    run = {**report().run, "shard": "2/4", "streams": {"corpus": 2, "drawn": 7}}
    coverage = {"cells": {"a": 1, "b": 1}, "discovery": [[0, 0.5], [12, 0.75]], "hunt_discovery": []}
    text = to_markdown(
        report(run=run, coverage=coverage, totals=totals(planned=None, cases=9, compile_s=0.5))
    )
    assert "quick, seed 0, shard 2/4: 9 cases (corpus 2, drawn 7) in 1.5 s, 0.5 s of compiling" in text
    assert (
        "2 behaviour cells reached; drawn cases came no nearer to a bound after case 12 (margin 0.75)" in text
    )
    assert "the hunt" not in text
    assert "shard" not in to_markdown(report())


def test_a_finding_names_the_other_groups_of_cases():
    groups = [{"group": f"CRASH//{i}", "first": i, "cases": 9 - i, "case": f"0/{i}"} for i in range(9)]
    lines = finding_lines(finding(groups=tuple(groups)))
    assert lines[1] == "also    8 cases of CRASH//1, first 0/1"
    assert lines[5] == "also    4 more groups of cases"
    assert not any(line.startswith("also") for line in finding_lines(finding()))
