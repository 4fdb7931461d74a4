"""The lse in every pair of bases: ties, values next to them, and what cancels or overflows."""

import math

import pytest
import torch

from verify.oracle import Base, Kind, evaluate, evaluate_plainly
from verify.oracle.exact import Row
from verify.oracle.tests.bases import OTHERS
from verify.oracle.tests.seven import BFLOAT16, FLOAT32, FORMATS
from verify.oracle.tests.test_situations import INF, merge, numbers

TWO, E = Base.TWO, Base.E
FAR = [-60.0, -1000.0, -1000000.0, -3e38]


def lse(m, s, lse_fmt=FLOAT32, *, base: Base, lse_base: Base):
    """Return rounded, residual and exponent of the lse of one row, as both oracles give it."""
    found = []
    for oracle in (evaluate, evaluate_plainly):
        exact = oracle(
            torch.ones(1, 1, len(m), 1),
            torch.tensor(m, dtype=torch.float32).reshape(1, 1, -1),
            torch.tensor(s, dtype=torch.float32).reshape(1, 1, -1),
            torch.tensor([len(m)]),
            FLOAT32,
            lse_fmt,
            base=base,
            lse_base=lse_base,
        ).lse
        assert exact.kind.item() == Kind.NUMBER
        found.append((exact.rounded.item(), exact.residual.item(), exact.exponent.item()))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], abs=2.0**-12)
    assert found[0][2] == found[1][2]
    return found[0]


def single(x: float) -> float:
    return float(torch.tensor(x, dtype=torch.float64).float())


@pytest.mark.parametrize("bases", OTHERS)
def test_empty_rows_and_mass_one(bases):
    exact = merge([-INF, 5], [1, 0], [[1], [3]], **bases._asdict())
    assert numbers(exact) == [0.0]
    assert exact.lse.rounded.item() == -INF
    assert lse([0.0], [1.0], **bases._asdict()) == (0.0, 0.0, -126)
    assert lse([0.0, 0.0], [0.25, 0.75], **bases._asdict()) == (0.0, 0.0, -126)
    above = lse([0.0, -3e38], [1.0, 1.0], **bases._asdict())
    assert above == (0.0, pytest.approx(0.0, abs=2.0**-12), -126)


@pytest.mark.parametrize("far", [None, *FAR])
@pytest.mark.parametrize("n", [257, 259, -257, -259])
@pytest.mark.parametrize("base", Base)
def test_lse_that_is_a_tie_where_both_bases_are_the_same(base, n, far):
    """The lse is n/256, a midpoint of bfloat16, or so little above it that only an exact sign can tell."""
    tie = n / 256
    m, s = ([tie - 1, tie - 1], [1.0, 1.0]) if base is TWO else ([tie, tie], [0.5, 0.5])
    if far is not None:
        m, s = [*m, far], [*s, 1.0]
    below, above = (math.floor(n / 2) / 128, math.ceil(n / 2) / 128)
    even = below if math.floor(n / 2) % 2 == 0 else above
    want = even if far is None else above
    rounded, residual, exponent = lse(m, s, BFLOAT16, base=base, lse_base=base)
    assert rounded == want
    assert residual == pytest.approx(0.5 if want == below else -0.5, abs=2.0**-12)
    assert exponent == 0
    if far is None:
        assert abs(residual) == 0.5


@pytest.mark.parametrize("far", [None, *FAR])
@pytest.mark.parametrize("edge", [4.0, -4.0])
@pytest.mark.parametrize("bases", OTHERS)
def test_lse_next_to_a_power_of_two(bases, edge, far):
    if bases.base is bases.lse_base:
        m, s = [edge], [1.0]
    else:
        m, s = [0.0, 0.0], [2.0 ** (edge - 1)] * 2
    if far is not None:
        m, s = [*m, far], [*s, 1.0]
    rounded, residual, exponent = lse(m, s, **bases._asdict())
    assert (rounded, residual) == (edge, pytest.approx(0.0, abs=2.0**-12))
    assert exponent == (1 if edge < 0 and far is not None else 2)  # from −4 it is towards zero


@pytest.mark.parametrize("far", [None, *FAR])
def test_lse_in_octaves_that_is_a_tie_although_the_weights_are_powers_of_e(far):
    """log2(2^8 + 2^8) = 9 lies between 8 and 10, which have 3 bits."""
    fmt = FORMATS["float8_e5m2"]
    m, s = [0.0, 0.0], [256.0, 256.0]
    if far is not None:
        m, s = [*m, far], [*s, 1.0]
    rounded, residual, _ = lse(m, s, fmt, base=E, lse_base=TWO)
    assert rounded == (8.0 if far is None else 10.0)
    assert residual == pytest.approx(0.5 if far is None else -0.5, abs=2.0**-12)


def test_lse_beyond_what_masses_at_zero_can_reach():
    """9.5 and −400 are no log2 of a mass at m = 0, however near others come."""
    row = Row([0.0, 1.0], [1.0, 1.0], E)
    assert row._power_of(TWO, 19, -1) is None
    assert row._power_of(TWO, -400, 0) is None
    assert row._power_of(TWO, 10**30, 0) is None
    assert row._power_of(TWO, 9, 0) == [(1 << 158, 0)]
    assert row._power_of(E, 1, -150) is None
    assert row._power_of(E, 1, -149) == [(1 << 149, 1)]
    assert Row([0.0], [1.0])._power_of(TWO, 3, -1) == [(1, 3 << 148)]
    assert Row([0.0], [1.0])._power_of(E, 3, -1) is None


def test_single_segments_say_what_the_lse_is():
    for m in map(single, (1.5, -7.25, 0.1, 3.4e38, -3.4e38, 2.0**-149)):
        assert lse([m], [1.0], base=E, lse_base=E)[:2] == (m, 0.0)
        assert lse([m], [1.0], base=TWO, lse_base=TWO)[:2] == (m, 0.0)
    assert lse([1.5], [8.0], base=TWO, lse_base=TWO)[:2] == (4.5, 0.0)
    assert lse([0.0], [2.0**-149], base=E, lse_base=TWO)[:2] == (-149.0, 0.0)
    assert lse([10.0], [8.0], base=E, lse_base=E)[0] == single(10 + 3 * math.log(2))
    assert lse([10.0], [8.0], base=E, lse_base=TWO)[0] == single(3 + 10 / math.log(2))
    row = torch.tensor([[[257 / 256]]]), torch.ones(1, 1, 1)
    for base in Base:  # a tie, but one that the second tier knows exactly
        exact = evaluate(
            torch.ones(1, 1, 1, 1), *row, torch.tensor([1]), FLOAT32, BFLOAT16, base=base, lse_base=base
        )
        assert exact.tiers["exact"] == 0
        assert (exact.lse.rounded.item(), exact.lse.residual.item()) == (1.0, 0.5)


def test_lse_that_cancels():
    m = single(-math.log(2.0))
    assert lse([m], [2.0], base=E, lse_base=E)[0] == single(m + 0.6931471805599453)
    assert lse([m], [2.0], base=E, lse_base=TWO)[0] == single((m + 0.6931471805599453) / math.log(2))
    rounded, _, exponent = lse([-1.0, 1e-30], [1.0, 2.0**-100], base=TWO, lse_base=TWO)
    assert (rounded, exponent) == (-1.0, -1)


def test_lse_that_overflows_in_octaves():
    assert lse([3e38], [1.0], base=E, lse_base=TWO)[0] == INF
    assert lse([-3e38], [1.0], base=E, lse_base=TWO)[0] == -INF
    inside = single(FLOAT32.max_value * math.log(2) * (1 - 2.0**-22))
    assert lse([inside], [1.0], base=E, lse_base=TWO)[0] == single(inside / math.log(2))
