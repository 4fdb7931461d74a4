"""The acceptance cases that concern the mathematics, with values from an independent computation."""

import math

import pytest
import torch

from verify.oracle import Kind
from verify.oracle.tests.seven import E4M3FN
from verify.oracle.tests.test_situations import merge, numbers

LN2 = math.log(2)


def single(x: float) -> float:
    return float(torch.tensor(x, dtype=torch.float64).float())


def test_row_of_empty_segments():
    exact = merge([-math.inf] * 4, [1] * 4, [[0]] * 4)
    assert numbers(exact) == [0.0]
    assert exact.lse.rounded.item() == -math.inf


def test_nan_behind_an_empty_segment():
    exact = merge([0, -math.inf], [2, 1], [[2, -4], [math.nan, math.nan]])
    assert numbers(exact) == [1.0, -2.0]
    assert exact.lse.rounded.item() == single(LN2)


def test_ordinary_row_and_row_of_length_zero():
    exact = merge([0, 1], [1, 1], [[1], [3]])
    assert numbers(exact) == [single(7 / 3)]
    assert exact.lse.rounded.item() == single(math.log(3))
    empty = merge([99, 99], [99, 99], [[99], [99]], active=0)
    assert numbers(empty) == [0.0]
    assert empty.lse.rounded.item() == -math.inf


def test_base_two_in_natural_out():
    assert merge([10], [8], [[1]]).lse.rounded.item() == single(13 * LN2)
    assert numbers(merge([1, 3], [1, 1], [[1], [0]])) == [single(0.2)]


def test_masses_that_a_narrow_format_cannot_tell_apart():
    m = [single(20 / LN2), single(20.05 / LN2)]
    exact = merge(m, [1, 1], [[1], [0]])
    assert numbers(exact) == [single(1 / (1 + 2 ** (m[1] - m[0])))]
    value = exact.output.rounded.item() + exact.output.residual.item() * 2.0**-25
    assert value == pytest.approx(0.48750273, abs=5e-9)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(447, 448), (464, 448), (465, 448), (1000, 448), (-1000, -448), (433, 448), (431, 416)],
)
def test_saturation(value, rounded):
    assert numbers(merge([0], [1], [[value]], E4M3FN)) == [rounded]


def test_nan_is_not_saturated():
    assert merge([0], [1], [[math.nan]], E4M3FN).output.kind.item() == Kind.NAN


def test_maximum_over_live_segments():
    exact = merge([0, -127], [0, 1], [[0], [3]])
    assert numbers(exact) == [3.0]
    assert exact.lse.rounded.item() == single(-127 * LN2)


def test_mass_near_one():
    exact = merge([20], [2.0**-20 * (1 + 2.0**-10)], [[0]])
    assert exact.lse.rounded.item() == single(math.log1p(2.0**-10))
    value = exact.lse.rounded.item() + exact.lse.residual.item() * 2.0**-34
    assert value == pytest.approx(9.7608597e-4, rel=1e-8)


def test_no_intermediate_overflow():
    assert numbers(merge([0, 0], [1, 1], [[2e38], [2e38]])) == [single(2e38)]
    exact = merge([0] * 4, [3e38] * 4, [[0]] * 4)
    assert exact.lse.rounded.item() == single(math.log(4.0) + math.log(single(3e38)))
    assert numbers(exact) == [0.0]
