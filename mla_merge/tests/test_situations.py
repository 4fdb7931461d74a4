"""The contract's table of situations, row by row, with the cases that broke other kernels."""

import math

import pytest
import torch

from mla_merge import merge_mla_segments_triton
from mla_merge.rounding import RULES
from mla_merge.tests.rows import INF, NAN, merge_row

FP8 = [dtype for dtype in RULES if dtype.itemsize == 1]
LN2 = math.log(2)


def float32(x: float) -> float:
    return torch.tensor(x, dtype=torch.float64).float().double().item()


@pytest.mark.parametrize("dtype", RULES, ids=str)
@pytest.mark.parametrize("m", [[-INF] * 4, [0.0, 0.0, -INF, 5.0]])
def test_no_mass(m, dtype, device):
    s = [1.0 if x == -INF else 0.0 for x in m]
    assert merge_row(m, s, [0.0, NAN, INF, 3.0], device, dtype=dtype) == ([0.0], -INF)


def test_empty_row_beside_ordinary_rows(device):
    o = torch.tensor([1.0, 3.0, NAN, 5.0], device=device)[None, None, :, None].repeat(3, 2, 1, 2)
    m = torch.tensor([0.0, 1.0, -INF, -INF], device=device).repeat(3, 2, 1)
    s = torch.ones_like(m)
    m[1, 0] = -INF
    lens = torch.tensor([4, 4, 0], device=device)
    output, lse = merge_mla_segments_triton(o, m, s, lens, 1, torch.float32)
    expected = torch.full((3, 2, 2), float32(7 / 3))
    expected[1, 0] = 0
    expected[2] = 0
    assert torch.equal(output.cpu(), expected)
    mass = torch.full((3, 2), float32(math.log(3)))
    mass[1, 0] = -INF
    mass[2] = -INF
    assert torch.equal(lse.cpu(), mass)


@pytest.mark.parametrize(
    ("m", "s"),
    [
        ([NAN, 0], [1, 1]),
        ([NAN, 0], [0, 1]),
        ([0, 0], [NAN, 1]),
        ([INF, 0], [1, 1]),
        ([INF, INF], [1, 1]),
        ([0, 0], [1, -1]),
        ([0, -3e38], [1, -1e-45]),
        ([0, 0], [INF, 1]),
        ([-3e38, 3e38], [INF, 1]),
    ],
)
@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_spoilt_row(m, s, dtype, device):
    output, lse = merge_row(m, s, [1.0, INF], device, dtype=dtype)
    assert math.isnan(output[0])
    assert math.isnan(lse)


@pytest.mark.parametrize(
    ("m", "s"),
    [(-INF, NAN), (-INF, -1.0), (-INF, INF), (INF, 0.0), (3e38, 0.0), (0.0, -0.0), (-5.0, 0.0)],
)
def test_empty_segment_is_ignored_whatever_it_holds(m, s, device):
    for o in (NAN, INF, -INF, 7.0):
        output, lse = merge_row([m, 0, m], [s, 2, s], [[o, o], [3, -4], [o, o]], device)
        assert output == [1.5, -2.0]
        assert lse == float32(LN2)


def test_subnormal_mass_is_mass(device):
    assert merge_row([0.0], [2.0**-149], [6 * 2.0**-149], device) == ([6.0], float32(-149 * LN2))


@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_non_finite_partials(dtype, device):
    """Columns: NaN, both infinities, each infinity at the smallest weight, and an ordinary one."""
    largest = INF if dtype not in FP8 else float(torch.finfo(dtype).max)
    o = [[NAN, INF, 1, 1, 1], [1, -INF, INF, -INF, 1], [1, 1, 1, 1, 1]]
    output, lse = merge_row([0, -3e38, 1], [1, 1e-45, 1], o, device, dtype=dtype)
    assert math.isnan(output[0])
    assert math.isnan(output[1])
    assert output[2:] == [largest, -largest, 1.0]
    assert lse == float32(math.log(3))


@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_overflow(dtype, device):
    """Half a step past the largest value is the tie that overflows; anything below it does not."""
    largest = float(torch.finfo(dtype).max)
    beyond = largest if dtype in FP8 else INF
    half = 2.0 ** (math.frexp(largest)[1] - RULES[dtype].precision - 1)
    # Two equal masses, so that y is the sum of the two partials and may pass the largest float32.
    excess = [0.0, half * (1 - 2.0**-24), half, largest]
    o = [[largest] * 4 + [-largest] * 4, excess + [-x for x in excess]]
    expected = [largest, largest, beyond, beyond]
    output = merge_row([0, 0], [0.5, 0.5], o, device, dtype=dtype)[0]
    assert output == expected + [-x for x in expected]


@pytest.mark.parametrize("dtype", FP8, ids=str)
def test_fp8_nan_stays_nan(dtype, device):
    assert math.isnan(merge_row([0], [1], [NAN], device, dtype=dtype)[0][0])


def test_subnormal_results_are_not_flushed(device):
    smallest = {torch.float32: -149, torch.float16: -24, torch.bfloat16: -133}
    for dtype, exponent in smallest.items():
        o = [[2.0**exponent, 2.0 ** (exponent - 1) * 1.25, 3 * 2.0**exponent]]
        expected = [2.0**exponent, 2.0**exponent, 3 * 2.0**exponent]
        if dtype == torch.float32:
            o[0][1] = 2.0**exponent
        assert merge_row([0], [1], o, device, dtype=dtype)[0] == expected


def test_masked_nan_partial_has_no_weight(device):
    output, lse = merge_row([0, -INF], [2, 1], [[2, -4], [NAN, NAN]], device)
    assert output == [1.0, -2.0]
    assert lse == float32(LN2)


def test_maximum_is_taken_over_live_segments(device):
    output, lse = merge_row([0, -127], [0, 1], [0, 3], device)
    assert output == [3.0]
    assert lse == float32(-127 * LN2)


def test_base_of_the_lse(device):
    assert merge_row([10], [8], [0], device)[1] == float32(13 * LN2)
    assert merge_row([1, 3], [1, 1], [1, 0], device)[0] == [float32(0.2)]


def test_log_is_folded(device):
    """Maximum and mass that cancel: added after the logarithm they lose every digit."""
    lse = merge_row([20], [2.0**-20 * (1 + 2.0**-10)], [0], device)[1]
    assert lse == float32(math.log1p(2.0**-10)) == pytest.approx(9.7608597e-4, rel=1e-7)
    assert merge_row([126], [2.0**-126 * (1 + 2.0**-23)], [0], device)[1] == float32(math.log1p(2.0**-23))


def test_sums_past_the_largest_float32(device):
    assert merge_row([0, 0], [1, 1], [2e38, 2e38], device)[0] == [float32(2e38)]
    output, lse = merge_row([0] * 4, [3e38] * 4, [0] * 4, device)
    assert output == [0.0]
    assert lse == float32(math.log(4 * float32(3e38)))


def test_largest_maximum(device):
    big = float32(3.4e38)
    assert merge_row([big], [1], [5], device) == ([5.0], float32(big * LN2))
    assert merge_row([-big, big], [1e38, 0.75], [1, 2.25], device)[0] == [3.0]
