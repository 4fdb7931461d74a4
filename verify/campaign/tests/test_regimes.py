"""Regimes: how many terms, how much of them cancelled, and that no value is lost or counted twice."""

import math
from collections import Counter

import pytest

from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from reports.regimes import CONDITIONING_EDGES
from verify.campaign.jobs import Job
from verify.campaign.tests.test_hunt import bench
from verify.museum.honest import Merge
from verify.tests.acceptance import rows


def regimes(case):
    job = Job(name="test", input=case)
    return {
        (r.key.result, r.key.segments, r.key.conditioning): r for r in bench(Merge()).run(job, case).regimes
    }


@pytest.mark.parametrize(("second", "bits"), [(1.0, 0), (-0.25, 0), (-1.0 + 2.0**-9, 8), (-1.0, 128)])
def test_an_output_is_filed_by_the_bits_that_cancel(second, bits):
    """κ = (1 + |b|) / |1 + b|; an exact zero out of terms that are none is beyond every edge."""
    found = regimes(rows(m=[[0.0, 0.0, 0.0]], s=[[1.0, 1.0, 0.0]], o=[[[1.0], [second], [7.0]]]))
    assert ("output", 2, bits) in found  # S = 3 lies in the bin from 2 to 4
    assert found["output", 2, bits].numbers == 1


def test_an_lse_is_filed_by_how_much_of_the_maximum_the_logarithm_takes_back():
    assert ("lse", 1, 8) in regimes(rows(m=[[20.0]], s=[[2.0**-20 * 1.0625]], o=[[[1.0]]]))
    assert ("lse", 1, 128) in regimes(rows(m=[[20.0]], s=[[2.0**-20]], o=[[[1.0]]]))
    assert ("lse", 1, 0) in regimes(rows(m=[[0.0]], s=[[1.0]], o=[[[1.0]]]))


def test_every_number_of_the_strata_is_in_one_regime():
    for number in range(20):
        case = expand(draw_recipe(3, number))
        outcome = bench(Merge()).run(Job(name="test", input=case), case)
        strata = Counter({s.key.result: s.numbers for s in outcome.strata})
        filed = Counter[str]()
        for regime in outcome.regimes:
            filed[regime.key.result] += regime.numbers
            assert regime.key.conditioning in CONDITIONING_EDGES
        assert filed == +strata
        for stratum in outcome.strata:
            mine = [r for r in outcome.regimes if r.key.result == stratum.key.result]
            assert max((r.margin for r in mine), default=0.0) == stratum.margin
            assert sum(r.misrounded for r in mine) == stratum.misrounded
            assert math.isclose(max((r.bound for r in mine), default=0.0), stratum.bound, abs_tol=0.0)
