"""Of which values the bounds of a float32 merge speak, and what becomes of the others."""

import math
from dataclasses import replace

import pytest
import torch

from verify.bounds import load_bounds, second_terms
from verify.bounds.tests.float32_merges import HONEST, returned
from verify.judge import judge
from verify.observed import FaultKind
from verify.tests.judging import FP32, case, exact_of, judged

INF, NAN = math.inf, math.nan
TINY = 2.0**-149

SUBNORMAL = "products, sums or results are subnormal in float32"
SUMS = "sums overflow float32"
RESULTS = "results overflow float32"
LOST_MASS = "weights that vanish in float32 carry mass"
FAINT = "a weight that vanishes in float32 meets an infinity"
FULL = [1.0] * 2


@pytest.mark.parametrize(
    ("m", "s", "o", "reason", "lse_too"),
    [
        ([0.0, 0.0], [2e38, 2e38], FULL, SUMS, True),
        ([0.0, 0.0], FULL, [2e38, 2e38], SUMS, False),
        ([0.0, 0.0], FULL, [2e38, -2e38], SUMS, False),
        ([0.0, 0.0], [2e38, 2e38], [INF, 1.0], SUMS, True),
        ([0.0, 0.0, 0.0], [1.0] * 3, [INF, -2e38, -2e38], SUMS, False),
        ([0.0], [2.0**-20], [2.0**110], RESULTS, False),
        ([0.0], [2.0**30], [2.0**-100], SUBNORMAL, False),
        ([0.0, 0.0], FULL, [2.0**-120, 2.0**-130], SUBNORMAL, False),
        ([0.0, 0.0], FULL, [2.0**-110, -(2.0**-110)], SUBNORMAL, False),
        ([0.0, -60.0], FULL, [0.0, 2.0**-70], SUBNORMAL, False),
        ([0.0], [TINY], [TINY], SUBNORMAL, True),
        ([0.0, -60.0], [2.0**-120, 2.0**-70], FULL, SUBNORMAL, True),
        ([0.0, 0.0], [2.0**-112] * 2, [2.0**-110, -(2.0**-111)], SUBNORMAL, False),
        ([0.0, -127.0], [2.0**-20, 2.0**120], [1.0, 0.0], LOST_MASS, True),
        ([0.0, -127.0], [1.0, 2.0**104], [1.0, 0.0], LOST_MASS, True),
        ([0.0, -130.0], FULL, [1.0, INF], FAINT, False),
    ],
)
def test_what_leaves_the_range_of_float32_is_counted_and_not_judged(m, s, o, reason, lse_too):
    terms = second_terms(case(m, s, o), FP32)
    assert terms.out_of_domain == {reason: 1}
    assert terms.output.isinf().all()
    assert terms.lse.isinf().item() is lse_too
    wrong = case(m, s, o)
    got = returned(torch.full((1, 1, 1), 123.0), torch.full((1, 1), 7.0))
    verdict = judge(wrong, got, exact_of(wrong), FP32)
    assert not verdict.output.failed.any()
    assert verdict.lse.failed.item() is not lse_too
    assert not verdict.output.number.any()
    assert verdict.out_of_domain == {reason: 1}
    assert judge(wrong, got, exact_of(wrong), load_bounds()).output.inside.all()


@pytest.mark.parametrize(
    ("m", "s", "o"),
    [
        ([0.0, 0.0], [1e38, 1e38], [1e3, 1e3]),
        ([0.0, 0.0], FULL, [1e38, 1e38]),
        ([0.0], [2.0**-16], [2.0**110]),
        ([0.0], [2.0**30], [2.0**-94]),
        ([0.0, 0.0], FULL, [2.0**-120, 2.0**-124]),
        ([0.0, 0.0], FULL, [2.0**-90, 2.0**-130]),  # the loss of the second is paid for
        ([0.0, 0.0], FULL, [2.0**-90, -(2.0**-90)]),  # likewise what cancellation leaves
        ([0.0, 0.0], [1.0, TINY], FULL),
        ([0.0, -60.0], FULL, [0.0, 2.0**-64]),
        ([0.0, -127.0], [1.0, 2.0**100], [1.0, 0.0]),
        ([0.0, -127.0], FULL, [0.0, 2.0**127]),
        ([0.0, -126.0], FULL, [1.0, INF]),
        ([0.0, 0.0], FULL, [0.0, 0.0]),
        ([0.0, 0.0], FULL, [-INF, 1.0]),
        ([0.0], [2.0**-110], [2.0**-110]),
        ([2.0**-140], [1.0], [1.0]),  # a subnormal lse
        # No range excuses what needs none: no mass, NaN.
        ([-INF, 0.0], [1.0, 0.0], [2e38, 2e38]),
        ([0.0, NAN], [2e38, 2e38], [2e38, TINY]),
        ([0.0, 0.0], [2e38, INF], [2e38, TINY]),
        ([0.0, -200.0], FULL, [1.0, NAN]),
        ([0.0, -200.0], [2e38, 2e38], [INF, -INF]),
    ],
)
def test_what_float32_has_no_excuse_for_is_judged(m, s, o):
    here = case(m, s, o)
    terms = second_terms(here, FP32)
    assert terms.output.isfinite().all()
    overflow = m == [0.0, -200.0] and s[0] > 1e38  # the mass 2e38 alone does not overflow
    assert terms.lse.isfinite().all() or overflow
    verdict = judge(
        here, returned(torch.full((1, 1, 1), 123.0), torch.full((1, 1), 7.0)), exact_of(here), FP32
    )
    assert verdict.output.failed.all()
    for name, merge in HONEST.items():
        assert not judged(merge, here).faults, name


def test_a_column_is_excused_without_its_neighbours():
    o = [[1.0, 2e38, TINY, INF], [1.0, 2e38, 0.0, 1.0]]
    terms = second_terms(case([0.0, 0.0], FULL, o), FP32)
    assert terms.output[0, 0].isinf().tolist() == [False, True, True, False]
    assert terms.lse.isfinite().all()
    assert terms.out_of_domain == {SUMS: 1}  # a row counts once


def test_what_was_never_written_has_no_excuse():
    overflowing = case([0.0, 0.0], FULL, [2e38, 2e38])
    got = returned(torch.full((1, 1, 1), NAN), torch.full((1, 1), math.log(2.0)))
    exact = exact_of(overflowing)
    assert not judge(overflowing, got, exact, FP32).faults
    got.unwritten_output.fill_(True)
    (fault,) = judge(overflowing, got, exact, FP32).faults
    assert fault.kind is FaultKind.UNWRITTEN_OUTPUT


def test_a_row_counts_under_its_first_reason():
    one = case([0.0, 0.0], FULL, [2e38, 2e38])
    many = replace(
        one,
        segm_output=torch.tensor([[[[2e38]] * 2, [[TINY]] * 2], [[[1.0]] * 2, [[TINY]] * 2]]),
        segm_max=torch.zeros(2, 2, 2),
        segm_expsum=torch.ones(2, 2, 2),
        seq_lens=torch.tensor([2, 2]),
    )
    terms = second_terms(many, FP32)
    assert terms.out_of_domain == {SUMS: 1, SUBNORMAL: 2}
    assert terms.output[..., 0].isinf().tolist() == [[True, True], [False, True]]
