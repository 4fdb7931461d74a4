"""Compile signatures: few, lasting, with every boundary and something for every family."""

import pytest

from fuzz.families import DRAWN
from fuzz.signatures import TIERS, Signature, signatures, tier_of

SEEDS = [*range(60), 2**63, 2**64 - 1, 2**70 + 3]


def shapes(some) -> set[tuple[int, int, int]]:
    return {(one.segments, one.rank, one.tile_size) for one in some}


@pytest.mark.parametrize("seed", [0, 5, 2**70 + 3])
def test_more_signatures_begin_with_the_same_ones(seed):
    longest = signatures(seed, 100)
    assert len(set(longest)) == 100
    for count in (0, 1, 7, 8, 9, 24, 63, 64, 65):
        assert signatures(seed, count) == longest[:count]


def test_every_family_has_some_among_the_first_eight_of_every_seed():
    for seed in SEEDS:
        first = signatures(seed, TIERS[0])
        for name, family in DRAWN.items():
            assert any(map(family.shapes.fits, first)), (seed, name)
        # All families but the odd one have a choice.
        assert min(sum(map(family.shapes.fits, first)) for family in DRAWN.values()) >= 2


def test_the_boundaries_come_first_whatever_the_seed():
    for seed in SEEDS:
        eight, more, all_of_ci = (signatures(seed, count) for count in TIERS)
        assert {1, 2, 4, 5, 8, 128} <= {one.segments for one in eight}
        assert {1, 33, 512} <= {one.rank for one in eight}
        assert {1, 7, 128} <= {one.tile_size for one in eight}
        assert {(1, 1, 1), (8, 512, 16), (128, 512, 128)} <= shapes(eight)
        assert {7, 24, 65, 130} <= {one.segments for one in more}
        assert {80, 576, 1024} <= {one.rank for one in more}
        assert {5, 48, 2**31 - 1} <= {one.tile_size for one in more}
        assert {3, 9, 31, 33, 100, 127, 129, 255, 257} <= {one.segments for one in all_of_ci}
        assert {448, 511, 513, 1000, 1024} <= {one.rank for one in all_of_ci}
        assert {65536, 100, 127} <= {one.tile_size for one in all_of_ci}


def test_the_rest_depends_on_the_seed():
    drawn = [shapes(signatures(seed, 64)) for seed in SEEDS]
    same = set.intersection(*drawn)
    assert len(same) == 6 + 8 + 16
    everything = set.union(*drawn)
    assert len(everything) > 500
    assert {1, 3, 16, 32, 64} <= {segments for segments, _, _ in everything - same}


def test_what_a_family_needs_is_kept():
    one = Signature(segments=1, rank=2, tile_size=2**31 - 1)
    assert {name for name, family in DRAWN.items() if family.shapes.fits(one)} == {"seq_lens"}
    even = Signature(segments=2, rank=16, tile_size=64)
    assert {name for name, family in DRAWN.items() if not family.shapes.fits(even)} == {
        "cancellation",
        "odd_shapes",
    }
    for odd in ((3, 2, 2), (2, 3, 2), (2, 2, 3)):
        assert DRAWN["odd_shapes"].shapes.fits(Signature(segments=odd[0], rank=odd[1], tile_size=odd[2]))


def test_rounds_and_tiers():
    assert [tier_of(turn) for turn in (0, 1, 5, 6, 19)] == [8, 24, 24, 64, 64]
    assert 64 < tier_of(20) == tier_of(39) < tier_of(40) < 90
