"""The faults that a smoke run must find, each alone in an otherwise correct merge, by the right detector."""

from pathlib import Path

import pytest

from reports.serialize import from_json
from verify import fuzz
from verify.museum.registry import EXHIBITS

# fault → a kind that it must be reported as, and by what
PLANTED = {
    "one_segment_too_few": ("WRONG_LSE", "oracle"),
    "tile_grouping_ignored": ("WRONG_LSE", "oracle"),
    "last_column_skipped": ("UNWRITTEN_OUTPUT", "marker"),
    "bfloat16_weights": ("WRONG_VALUE", "oracle"),
    "epsilon_in_the_denominator": ("WRONG_VALUE", "oracle"),
    "biased": ("WRONG_VALUE", "oracle"),
    "truncating_store": ("WRONG_VALUE", "oracle"),
    "hidden_nan": ("LOST_NAN", "oracle"),
    "precision_by_batch_size": ("BROKEN_LAW", "law batch"),
    "every_second_call": ("NONDETERMINISTIC", "law repeat"),
    "input_overwritten": ("TOUCHED_INPUT", "input copy"),
    "exits_without_keys": ("CRASH", "isolation"),
    "hangs_on_a_ragged_tile": ("TIMEOUT", "isolation"),
}


def found(name, tmp_path, *options):
    out = tmp_path / "out"
    command = ["--kernel", EXHIBITS[name].path, "--profile", "smoke", "-q", "--out", str(out), *options]
    assert fuzz.main(command) == 1
    findings = from_json(Path(out / "report.json").read_text()).findings
    return {(finding.kind, finding.detector) for finding in findings}


def test_a_smoke_run_finds_what_only_a_law_can_see(tmp_path):
    assert PLANTED["precision_by_batch_size"] in found("precision_by_batch_size", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_smoke_run_finds_each_of_them(name, tmp_path):
    # The first call of a new process takes torch a second or more on a busy machine.
    options = ("--timeout", "8s") if PLANTED[name][0] == "TIMEOUT" else ()
    assert PLANTED[name] in found(name, tmp_path, *options)
