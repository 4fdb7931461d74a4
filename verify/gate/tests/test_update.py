"""`--update-bounds` tightens, loosens for a reason, and leaves alone what a failing report says."""

import re
from pathlib import Path

import pytest

from reports.tests.examples import finding, stratum
from verify.bounds import DEFAULT_BOUNDS, load_bounds
from verify.gate.measured import read_measured
from verify.gate.tests.made import gated, made


def tight(ulp="0.75"):
    """Bounds whose measured ones are all this wide, of the kernel that the reports are of."""
    rows, _, formula = DEFAULT_BOUNDS.read_text().partition("# The error that the kernel is allowed")
    text = rows.replace("ulp = 0.501", f"ulp = {ulp}") + "#" + formula.replace("ulp = 0.501", "ulp = 0.8")
    text = re.sub(r"outputs = \d+", "outputs = 11", re.sub(r"judged_ulp = .*", "judged_ulp = 0.5", text))
    text = text.replace('device = "NVIDIA H200"', 'device = "cpu"').replace(
        'mode = "device"', 'mode = "interpret"'
    )
    Path("mine.toml").write_text(text)
    return ["--bounds", "mine.toml"]


def test_the_ratchet_tightens_and_never_loosens(capsys):
    bounds = tight("0.75")
    better = made(strata=(stratum(judged_ulp=0.6), stratum(result="lse", judged_ulp=0.7)))
    code, _, out = gated(capsys, better, *bounds, "--update-bounds")
    assert code == 0
    assert re.search(r"float32 +0\.75 → 0\.6(01)?  tightened", out)
    measured = read_measured(Path("mine.toml"))
    assert measured["float16"].ulp == 0.75
    assert 0.7 <= measured["lse"].ulp < 0.702
    assert measured["float32"].judged_ulp == 0.6
    assert load_bounds("mine.toml").ulp == 0.8

    text = Path("mine.toml").read_text()
    worse = made(strata=(stratum(judged_ulp=0.7), stratum(result="lse", judged_ulp=0.5)))
    code, failed, out = gated(capsys, worse, *bounds, "--update-bounds")
    assert (code, failed) == (1, {"bounds"})
    assert "mine.toml is as it was" in out
    assert Path("mine.toml").read_text() == text  # not even the lse's, which got better


def test_a_reason_loosens_and_stands_beside_the_number(capsys):
    bounds = tight("0.6")
    worse = made(strata=(stratum(judged_ulp=0.7), stratum(result="lse", judged_ulp=0.5)))
    assert gated(capsys, worse, *bounds)[0] == 1
    code, _, out = gated(capsys, worse, *bounds, "--update-bounds", "--loosen", "twice as fast\nat S = 128")
    assert code == 0
    assert re.search(r"float32 +0\.6 → 0\.7(01)?  loosened", out)
    assert 'reason = "loosened from 0.6 ulp: twice as fast at S = 128"' in Path("mine.toml").read_text()
    assert gated(capsys, worse, *bounds)[0] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"totals": {"outputs": 10}},
        {"findings": (finding(),), "totals": {"failed": 1}, "run": {"exit_code": 1}},
        {"run": {"stopped_by": "first fault"}},
    ],
)
def test_a_report_that_fails_otherwise_moves_no_bound_for_any_reason(changes, capsys):
    bounds = tight("0.6")
    text = Path("mine.toml").read_text()
    worse = made(strata=(stratum(judged_ulp=0.7),), **changes)
    assert gated(capsys, worse, *bounds, "--update-bounds", "--loosen", "because")[0] == 1
    assert Path("mine.toml").read_text() == text
