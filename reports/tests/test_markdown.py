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
