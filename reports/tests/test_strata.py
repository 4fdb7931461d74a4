import itertools
import math
import random

import pytest

from reports.strata import EDGES, Stratum
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
        assert merged.sum_units == 2 * Stratum.in_units(0.25)
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
    empty = stratum(numbers=0, misrounded=0, sum_units=0)
    assert empty.mean_signed_ulp == 0.0
    assert empty.misrounded_fraction == 0.0


def test_the_sum_of_errors_has_a_unit_and_rounds_to_it():
    assert Stratum.in_units(0.5) == 1 << 31
    assert [Stratum.in_units(k * 2.0**-33) for k in (1, -1, 3, -3, 5)] == [0, 0, 2, -2, 2]
    assert Stratum.in_units(-(2.0**300)) == -(1 << 332)
    assert stratum(numbers=4, sum_units=Stratum.in_units(-1.0)).mean_signed_ulp == -0.25
    for error in (math.inf, -math.inf, math.nan):
        with pytest.raises(ValueError, match="cannot be summed"):
            Stratum.in_units(error)


def test_merging_gives_the_same_in_every_order_and_grouping():
    drawn = random.Random(7)
    names = (
        "7/10 at [0]",
        "7/9 at [0]",
        "7/9 at [10]",
        "7/9 at [2]",
        "hunt/7/0/1/3 at [0]",
        "70/1",
        "",
        "7/009",
    )
    for _ in range(40):
        parts = [
            stratum(
                margin=drawn.choice((0.5, 0.995)) if name else 0.0,
                witness=name,
                max_ulp=drawn.random(),
                sum_units=Stratum.in_units(drawn.uniform(-1e6, 1e6)),
                numbers=drawn.randrange(99),
            )
            for name in drawn.sample(names, 4)
        ]
        a, b, c, d = parts
        wanted = a.merged(b).merged(c).merged(d)
        for p, q, r, s in itertools.permutations(parts):
            assert p.merged(q).merged(r.merged(s)) == wanted
            assert p.merged(q.merged(r).merged(s)) == wanted


def test_of_equal_margins_the_first_case_is_the_witness():
    ordered = ("7/9 at [0, 2]", "7/9 at [0, 10]", "7/10 at [0, 0]", "10/1 at [0, 0]", "hunt/7/0/1/4", "")
    for first, second in itertools.combinations(ordered, 2):
        one, other = stratum(witness=first), stratum(witness=second)
        assert one.merged(other).witness == other.merged(one).witness == first
    assert stratum(witness="7/9").merged(stratum(witness="9/9", margin=1.5)).witness == "9/9"
    assert stratum(witness="1/" + "9" * 5000).merged(stratum(witness="1/8")).witness == "1/8"
