import math
from fractions import Fraction

import pytest
import torch

from fuzz.case import Domain, MergeCase
from verify.bounds import load_bounds, second_terms

INF = math.inf


def case(m, s, o, length=None, tile=1):
    segments = len(m)
    return MergeCase(
        segm_output=torch.tensor(o, dtype=torch.float32).reshape(1, 1, segments, -1),
        segm_max=torch.tensor([[m]], dtype=torch.float32),
        segm_expsum=torch.tensor([[s]], dtype=torch.float32),
        seq_lens=torch.tensor([segments if length is None else length], dtype=torch.int32),
        tile_size=tile,
        out_dtype="float32",
        domain=Domain.STRESS,
    )


def by_hand(m, s, c, segments):
    """Return Σ (S + 16 + |m − M|)·|c|·2^m / Σ s·2^m · 2^-53 in fractions, for integer m."""
    top = max(m)
    den = sum(Fraction(si) * Fraction(2) ** mi for si, mi in zip(s, m, strict=True))
    parts = zip(m, c, strict=True)
    num = sum((segments + 16 + abs(mi - top)) * abs(Fraction(ci)) * Fraction(2) ** mi for mi, ci in parts)
    return float(num / den / 2**53)


def test_the_numbers_are_those_of_the_contract():
    bounds = load_bounds()
    assert (bounds.ulp, bounds.unit_roundoff_log2) == (0.501, -53)
    assert (bounds.per_segment, bounds.constant, bounds.per_exponent) == (1, 16, 1)
    assert len(bounds.sha256) == 64


def test_the_second_terms_follow_the_formula():
    m, s, o = [0, -3, 5], [1.5, 2.0, 0.25], [1.0, -7.0, 3.5]
    terms = second_terms(case(m, s, o), load_bounds())
    assert terms.output.item() == pytest.approx(by_hand(m, s, o, 3), rel=1e-12, abs=0.0)
    assert terms.lse.item() == pytest.approx(by_hand(m, s, s, 3), rel=1e-12, abs=0.0)


def test_only_live_segments_count_and_the_maximum_is_theirs():
    m, s, o = [0, 100, 7, -INF, 50], [1.5, 0.0, 2.0, 1.0, 3.0], [1.0, math.nan, -7.0, INF, 9.0]
    terms = second_terms(case(m, s, o, length=4), load_bounds())
    assert terms.output.item() == pytest.approx(
        by_hand([0, 7], [1.5, 2.0], [1.0, -7.0], 5), rel=1e-12, abs=0.0
    )
    assert terms.lse.item() == pytest.approx(by_hand([0, 7], [1.5, 2.0], [1.5, 2.0], 5), rel=1e-12, abs=0.0)


def test_a_row_without_mass_is_granted_nothing():
    terms = second_terms(case([-INF, 0.0], [1.0, 0.0], [1.0, 1.0]), load_bounds())
    assert terms.output.item() == 0.0
    assert terms.lse.item() == 0.0


@pytest.mark.parametrize(
    ("m", "s", "granted"),
    [
        ([3.0], [1.7], False),  # an integer maximum
        ([3.3], [0.25], False),  # a power of two
        ([3.3], [2.0**-149], False),  # a subnormal power of two
        ([3.3], [1.7], True),
        ([3.0, 1.0], [1.0, 1.0], True),  # two live segments
        ([3.0, -INF], [1.7, 1.0], False),  # one live segment beside an empty one
    ],
)
def test_the_flat_rule_of_the_lse(m, s, granted):
    terms = second_terms(case(m, s, [1.0] * len(m)), load_bounds())
    assert (terms.lse.item() > 0.0) is granted


def test_huge_and_vanishing_weights_stay_finite():
    terms = second_terms(case([3e38, -3e38, 0.0], [2.0**-149, 3e38, 1.0], [3e38, -3e38, 1.0]), load_bounds())
    assert math.isfinite(terms.output.item())
    assert math.isfinite(terms.lse.item())
