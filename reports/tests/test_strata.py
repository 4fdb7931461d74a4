import math

import pytest

from reports.strata import EDGES
from reports.tests.examples import stratum


def test_edges_rise_and_hold_the_limit_of_a_correct_rounding():
    assert list(EDGES) == sorted(set(EDGES))
    assert EDGES[0] == 0.0
    assert EDGES[-1] == math.inf
    assert 0.5 in EDGES
    assert 0.501 in EDGES


def test_merging_keeps_the_worst_and_adds_the_rest():
    mild, bad = stratum(), stratum(max_ulp=7.0, judged_ulp=6.5, margin=14.0, witness="0/9", failed=2)
    for merged in (mild.merged(bad), bad.merged(mild)):
        assert merged.max_ulp == 7.0
        assert merged.judged_ulp == 6.5
        assert merged.margin == 14.0
        assert merged.witness == "0/9"
        assert merged.failed == 2
        assert merged.cases == 2
        assert merged.numbers == 20
        assert merged.sum_ulp == 0.5
        assert sum(merged.counts) == 20


def test_merging_refuses_another_stratum():
    with pytest.raises(ValueError, match="cannot merge"):
        stratum().merged(stratum(dtype="float16"))


def test_quantiles_round_up_to_the_edge_of_their_bin():
    one = stratum()
    assert one.quantile(0.5) == EDGES[1]
    assert one.quantile(0.999) == one.max_ulp  # 0.499 lies below the edge 0.5 of its bin
    assert stratum(numbers=0, max_ulp=0.0, counts=(0,) * (len(EDGES) - 1)).quantile(0.5) == 0.0


def test_means_of_an_empty_population_are_zero():
    empty = stratum(numbers=0, misrounded=0, sum_ulp=0.0)
    assert empty.mean_signed_ulp == 0.0
    assert empty.misrounded_fraction == 0.0
