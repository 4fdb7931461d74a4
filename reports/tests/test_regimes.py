import itertools

import pytest

from reports.regimes import CONDITIONING_EDGES, Regime, RegimeKey, segments_bin

KEY = RegimeKey("float32", "output", 4, 12)


def regime(size, numbers=3):
    return Regime(
        key=KEY, numbers=numbers, misrounded=1, max_ulp=size, judged_ulp=size / 2, margin=size / 3, bound=3.0
    )


def test_merging_adds_the_counts_and_keeps_the_largest():
    parts = [regime(0.25), regime(0.5, numbers=7), regime(0.125)]
    merged = {a.merged(b).merged(c) for a, b, c in itertools.permutations(parts)}
    assert merged == {
        Regime(key=KEY, numbers=13, misrounded=3, max_ulp=0.5, judged_ulp=0.25, margin=0.5 / 3, bound=3.0)
    }


def test_a_bound_that_only_one_part_was_granted_is_kept():
    wide = Regime(key=KEY, bound=9.0)
    assert regime(0.5).merged(wide).bound == wide.merged(regime(0.5)).bound == 9.0


def test_regimes_of_different_names_do_not_merge():
    with pytest.raises(ValueError, match="cannot merge"):
        regime(0.5).merged(Regime(key=KEY._replace(segments=8)))


def test_a_number_of_segments_has_one_bin():
    assert [segments_bin(s) for s in (1, 2, 3, 4, 7, 8, 1000)] == [1, 2, 2, 4, 4, 8, 512]
    with pytest.raises(ValueError, match="one or more"):
        segments_bin(0)


def test_the_edges_rise_from_nothing():
    assert CONDITIONING_EDGES[0] == 0
    assert list(CONDITIONING_EDGES) == sorted(set(CONDITIONING_EDGES))
