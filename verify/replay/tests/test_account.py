"""What is told of one value, on rows whose numbers anybody can check."""

import math
import re

import pytest
import torch

from fuzz.case import Domain, MergeCase
from verify.observed import Fault, FaultKind
from verify.replay.account import MOST_SEGMENTS, account_of_fault, account_of_value
from verify.subjects.peers import CONVENTIONS
from verify.tests.judging import case


def told(*arguments, **options):
    return "\n".join(account_of_value(*arguments, **options))


def rows(text):
    """Return the cells of the table of segments by the name of their column, a list for each segment."""
    lines = text[text.index("         segment") :].splitlines()
    names = re.split(r"  +", lines[0].strip())
    return [dict(zip(names, line.split(), strict=False)) for line in lines[1:]]


SIMPLE = case([0.0, -1.0, 2.0], [1.0, 2.0, 0.0], [3.0, -8.0, 5.0], "bfloat16")
"""Weights 1, 1/2 and none, den = 2, y = 3/2 − 4/2 = −1/2."""


def test_every_segment_has_its_weight_and_its_parts():
    first, second, empty = rows(told(SIMPLE, 0, 0, 0))
    assert (first["weight"], second["weight"], empty["weight"]) == ("1", "0.5", "empty")
    assert (first["share of mass"], second["share of mass"]) == ("50.0000%", "50.0000%")
    assert (first["part of output"], second["part of output"], empty["part of output"]) == ("1.5", "-2", "-")
    assert (first["m"], first["s"], first["o"]) == ("0.0", "1.0", "3.0")


def test_the_largest_contribution_is_marked():
    lines = told(SIMPLE, 0, 0, 0).splitlines()
    assert [line.endswith("largest") for line in lines[-3:]] == [False, True, False]
    lines = told(SIMPLE, 0, 0).splitlines()
    assert [line.endswith("largest") for line in lines[-3:]] == [True, False, False]
    nothing = told(case([0.0], [1.0], [0.0]), 0, 0, 0)
    assert "largest" not in nothing


def test_the_proof_encloses_the_value():
    line = next(line for line in told(SIMPLE, 0, 0, 0).splitlines() if line.startswith("proof"))
    low, high, exponent = map(int, re.findall(r"-?\d+", line)[:2] + re.findall(r"2\^(-?\d+)", line))
    assert low * 2.0**exponent <= -0.5 <= high * 2.0**exponent
    assert 0 <= (high - low) * 2.0**exponent < 1e-12
    line = next(line for line in told(SIMPLE, 0, 0).splitlines() if line.startswith("proof"))
    assert str(math.log(2))[:12] in line


@pytest.mark.parametrize(
    ("dtype", "value", "bits", "error"),
    [
        ("float32", "0.33333334", "0x3eaaaaab", "+0.3333"),
        ("float16", "0.3332520", "0x3555", "-0.3333"),
        ("bfloat16", "0.333", "0x3eab", "+0.3333"),
        ("float8_e4m3fn", "0.34375", "0x2b", "+0.3333"),
        ("float8_e5m2", "0.3125", "0x35", "-0.3333"),
    ],
)
def test_the_value_is_rounded_to_every_dtype(dtype, value, bits, error):
    text = told(case([0.0, 0.0], [1.0, 2.0], [1.0, 0.0]), 0, 0, 0)
    line = next(line for line in text.splitlines() if line.startswith(dtype + " "))
    assert line.split()[1].startswith(value[:7].rstrip("0"))
    assert line.split()[3:5] == [bits, error]
    assert line.endswith("asked for") == (dtype == "float32")


def test_infinities_and_nan_have_their_bits():
    infinite = told(case([0.0], [1.0], [math.inf], "float16"), 0, 0, 0)
    lines = {
        line.split()[0]: line.split()[1:] for line in infinite.splitlines() if line[:5] in ("float", "bfloa")
    }
    assert lines["float16"][:3] == ["inf", "inf", "0x7c00"]
    assert lines["float8_e5m2"][2] == "0x7b"
    assert lines["float8_e4m3fn"][2] == "0x7e"
    assert "proof a live segment's partial is not finite" in infinite
    broken = told(case([math.nan, 0.0], [1.0, 1.0], [1.0, 1.0]), 0, 0, 0)
    assert "row is NaN" in broken
    assert "proof the statistics of a live segment make the whole row NaN" in broken


def test_a_row_without_segments_has_no_table():
    empty = case([0.0], [1.0], [1.0])
    empty.seq_lens.zero_()
    text = told(empty, 0, 0, 0)
    assert "L 0: 0 of 1 segments active" in text
    assert "segment " not in text


def test_of_many_segments_those_that_matter_are_shown():
    count = 3 * MOST_SEGMENTS
    masses = [1.0] * count
    masses[7], masses[100] = 5000.0, 3000.0
    shown = told(case([0.0] * count, masses, [1.0] * count), 0, 0, 0)
    numbers = [int(row["segment"]) for row in rows(shown)[:-1]]
    assert len(numbers) == MOST_SEGMENTS
    assert {7, 100} <= set(numbers)
    assert numbers == sorted(numbers)
    assert f"and {count - MOST_SEGMENTS} more segments" in shown


def test_the_value_is_of_its_own_row_and_column():
    o = torch.arange(24, dtype=torch.float32).reshape(2, 3, 2, 2)
    many = MergeCase(
        segm_output=o,
        segm_max=torch.zeros(2, 3, 2),
        segm_expsum=torch.ones(2, 3, 2),
        seq_lens=torch.tensor([2, 1], dtype=torch.int32),
        tile_size=1,
        out_dtype="float32",
        domain=Domain.STRESS,
    )
    first, second = rows(told(many, 0, 2, 1))
    assert (first["o"], second["o"]) == (str(float(o[0, 2, 0, 1])), str(float(o[0, 2, 1, 1])))
    assert len(rows(told(many, 1, 0, 0))) == 1


def test_a_base_is_that_of_the_convention():
    natural = next(c for c in CONVENTIONS.values() if c.base.name == "E")
    (first, second) = rows(told(case([0.0, -1.0], [1.0, 1.0], [1.0, 1.0]), 0, 0, 0, convention=natural))
    assert first["weight"] == "1"
    assert float(second["weight"]) == pytest.approx(math.exp(-1), rel=1e-5)


def test_a_fault_without_a_place_is_told_in_one_line():
    fault = Fault(kind=FaultKind.CRASH, detector="isolation", message="it ended")
    assert account_of_fault(SIMPLE, fault) == ["", "CRASH noticed by isolation: it ended"]
