import math

import pytest
import torch

from reports.strata import EDGES, Stratum
from verify.bounds import load_bounds
from verify.campaign.measure import _sum_units, strata_of
from verify.judge import judge
from verify.observed import Returned
from verify.oracle.evaluate import evaluate
from verify.tests.acceptance import rows
from verify.tests.test_acceptance import FLOAT32


def measured(got, exact, lse=0.0):
    """Summarise a row whose exact values are chosen: one segment of mass 1 hands its values through."""
    case = rows(m=[[0]], s=[[1]], o=[[exact]])
    output = torch.tensor([[got]], dtype=torch.float32)
    returned = Returned(
        output=output,
        lse=torch.full((1, 1), lse),
        unwritten_output=torch.zeros(output.shape, dtype=torch.bool),
        unwritten_lse=torch.zeros(1, 1, dtype=torch.bool),
    )
    exact_values = evaluate(case.segm_output, case.segm_max, case.segm_expsum, case.active, FLOAT32, FLOAT32)
    judged = judge(case, returned, exact_values, load_bounds())
    return strata_of(judged, family="test", domain="stress", dtype="float32", case="0/0")


def test_errors_are_counted_and_the_worst_is_the_witness():
    ulp = 2.0**-23
    output, lse = measured([1.0, 1.0 + ulp, 1.0 - 1.5 * ulp, 2.0], [1.0, 1.0, 1.0, 2.0])
    assert (output.outputs, output.numbers, output.failed, output.misrounded) == (4, 4, 2, 2)
    assert output.max_ulp == 3.0  # below 1.0 the ulp is half as large
    assert output.witness == "0/0 at [0, 0, 2]"
    assert output.margin == pytest.approx(3.0 / 0.501)
    assert output.judged_ulp == pytest.approx(3.0)
    assert output.sum_units == Stratum.in_units(1.0 - 3.0)
    assert output.counts[0] == 2
    assert output.counts[EDGES.index(1.0)] == 1
    assert output.counts[EDGES.index(3.0)] == 1
    assert sum(output.counts) == 4
    assert (lse.outputs, lse.failed, lse.max_ulp) == (1, 0, 0.0)


def test_nan_and_infinity_are_judged_but_have_no_error():
    output, _ = measured([math.nan, math.inf, 1.0], [math.nan, math.inf, 1.0])
    assert (output.outputs, output.numbers, output.failed) == (3, 1, 0)
    output, _ = measured([1.0, math.nan, -math.inf], [math.nan, 1.0, math.inf])
    assert (output.outputs, output.numbers, output.failed) == (3, 0, 3)
    assert output.max_ulp == 0.0
    assert output.witness == ""


def test_an_error_that_is_half_an_ulp_lies_in_its_own_bin():
    output, _ = measured([2.0**-149], [2.0**-149])
    assert output.counts[0] == 1
    assert EDGES[EDGES.index(0.5) + 1] == 0.501


def test_the_sum_of_the_errors_is_exact_in_any_order_and_any_number_of_pieces():
    generator = torch.Generator().manual_seed(7)
    size = torch.exp2(torch.rand(4000, generator=generator, dtype=torch.float64) * 360 - 60)
    sign = torch.randint(0, 2, (4000,), generator=generator) * 2 - 1
    half = torch.arange(-40, 40, dtype=torch.float64) * 2.0**-33  # ties between two units
    errors = torch.cat(
        (size * sign, half, torch.tensor([2.0**277, -(2.0**277), 0.0, -0.0], dtype=torch.float64))
    )
    wanted = sum(Stratum.in_units(error) for error in errors.tolist())
    assert _sum_units(errors) == wanted != 0
    shuffled = errors[torch.randperm(errors.numel(), generator=generator)]
    assert sum(_sum_units(piece) for piece in shuffled.split(97)) == wanted


@pytest.mark.parametrize("error", [math.inf, -math.inf, math.nan])
def test_what_is_no_error_is_never_summed(error):
    with pytest.raises(ValueError, match="cannot be summed"):
        _sum_units(torch.tensor([0.25, error], dtype=torch.float64))
