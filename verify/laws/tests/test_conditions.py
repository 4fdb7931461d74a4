"""The conditions are the contract's, and what is called exact is exact, in rationals."""

import math
from fractions import Fraction

import pytest
import torch

from fuzz.bits import Stream
from fuzz.formats import FORMATS, ulp
from verify.laws.conditions import multiply_exactly, scale_exactly, segments_of, sum_exactly
from verify.laws.nasty import EMPTIES, NASTY
from verify.laws.tests.trials import written
from verify.laws.tolerance import numeric, ulp_at

NAN, INF = math.nan, math.inf
LARGEST = float(torch.finfo(torch.float32).max)
SPECIAL = (0.0, -0.0, 1.0, 2.0**-149, -(2.0**-126), LARGEST, 3.0, 2.0**24, 0.1, 1 + 2.0**-23)


def values(count=3000):
    """Return float32 values: any finite patterns, moderate ones, and the special ones."""
    stream = Stream(seed=7)
    patterns = stream.patterns("any", count)
    moderate = stream.spread("moderate", -12, 12, count).float()
    return torch.cat((patterns[patterns.isfinite()], moderate, torch.tensor(SPECIAL).float()))


def is_float32(value):
    narrow = torch.tensor(float(value), dtype=torch.float64).float() if abs(value) < 2**129 else None
    return narrow is not None and bool(narrow.isfinite()) and Fraction(float(narrow)) == value


@pytest.mark.parametrize("step", [1, -1, 3, -126, 127, 4096, -70000])
def test_sums_called_exact_are_and_all_of_them(step):
    m = values()
    total, exact = sum_exactly(m, torch.tensor(step))
    for a, b, said in zip(m.tolist(), total.tolist(), exact.tolist(), strict=True):
        right = Fraction(a) + step
        assert said == is_float32(right)
        assert not said or Fraction(b) == right
    assert 10 < exact.sum() < len(m)


@pytest.mark.parametrize("power", [1, -1, 40, -45, 100, -100])
def test_products_with_powers_of_two_called_exact_are_and_all_of_them(power):
    o = values()
    product, exact = scale_exactly(o, torch.tensor(power))
    for a, b, said in zip(o.tolist(), product.tolist(), exact.tolist(), strict=True):
        right = Fraction(a) * Fraction(2) ** power
        assert said == is_float32(right)
        assert not said or Fraction(b) == right
    assert 10 < exact.sum() < len(o)


def test_infinities_and_nan_stay_when_scaled():
    product, exact = scale_exactly(torch.tensor([INF, -INF, NAN]), torch.tensor(-7))
    assert product[:2].tolist() == [INF, -INF]
    assert bool(product[2].isnan())
    assert exact.tolist() == [True] * 3


def test_products_called_exact_are_and_all_of_them():
    a = values()
    b = (a.flip(0).view(torch.int32) & ~0xFFF).view(torch.float32)
    c = torch.where(torch.arange(len(a)) % 2 == 0, b, 0.75)
    product, exact = multiply_exactly(a, c)
    for x, y, z, said in zip(a.tolist(), c.tolist(), product.tolist(), exact.tolist(), strict=True):
        right = Fraction(x) * Fraction(y)
        assert said == is_float32(right)
        assert not said or Fraction(z) == right
    assert 10 < exact.sum() < len(a)


def test_segments_are_sorted_as_the_contract_defines_them():
    table = [
        # m, s, empty, broken
        (-INF, 1.0, True, False),
        (0.0, 0.0, True, False),
        (5.0, -0.0, True, False),
        (-INF, NAN, True, False),
        (INF, 0.0, True, False),
        (NAN, 0.0, False, True),
        (NAN, 1.0, False, True),
        (INF, 1.0, False, True),
        (0.0, -1.0, False, True),
        (0.0, INF, False, True),
        (0.0, NAN, False, True),
        (0.0, 2.0**-149, False, False),
        (-LARGEST, LARGEST, False, False),
    ]
    m, s, empty, broken = map(list, zip(*table, strict=True))
    case = written([[m]] * 2, [[s]] * 2, [[[[0.0]] * len(m)]] * 2, lengths=[len(m), 0])
    segments = segments_of(case)
    assert segments.empty[0, 0].tolist() == empty
    assert segments.broken[0, 0].tolist() == broken
    assert segments.live[0, 0].tolist() == [not e for e in empty]
    assert not segments.inactive[0].any()
    assert segments.inactive[1].all()
    assert not (segments.live[1] | segments.empty[1] | segments.broken[1]).any()


@pytest.mark.parametrize(
    ("m", "s", "sound"),
    [
        ([0.0, -512.0], [1.0, 1.0], True),
        ([0.0, -512.00006], [1.0, 1.0], False),
        ([600.0, 0.0], [0.0, 1.0], True),
        ([-INF, -600.0], [1.0, 1.0], True),
        ([-INF, 3.0], [1.0, 0.0], False),
        ([NAN, 3.0], [1.0, 1.0], False),
        ([3.0, 3.0], [1.0, -1.0], False),
    ],
)
def test_a_row_is_sound_when_all_its_live_segments_are_near(m, s, sound):
    case = written([[m]], [[s]], [[[[1.0]] * 2]])
    assert segments_of(case).sound.tolist() == [[sound]]


def test_the_tables_hold_what_they_are_called():
    m, s, o = (list(column) for column in zip(*EMPTIES, strict=True))
    case = written([[m]], [[s]], [[[[value] for value in o]]])
    assert segments_of(case).empty.all()
    assert {(-INF, 1.0, 0.0), (0.0, 0.0, 0.0)} <= set(EMPTIES)
    assert any(math.isnan(a) for _, a, _ in EMPTIES)
    m, s, o = (list(column) for column in zip(*NASTY, strict=True))
    segments = segments_of(written([[m]], [[s]], [[[[value] for value in o]]]))
    assert segments.broken.any()
    assert segments.empty.any()
    assert (segments.live & ~segments.broken).any()


@pytest.mark.parametrize("name", FORMATS)
def test_units_are_those_of_the_format(name):
    fmt = FORMATS[name]
    sizes = (0.0, 2.0**-149, 2.0**fmt.emin, 0.3, 1.0, 1.999, fmt.max_value)
    found = ulp_at(torch.tensor(sizes, dtype=torch.float64), fmt).tolist()
    assert [Fraction(unit) for unit in found] == [ulp(size, fmt) for size in sizes]
    assert ulp_at(torch.tensor([INF, 1e200], dtype=torch.float64), fmt).tolist() == [found[-1]] * 2


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_beyond_counts_as_the_contract_says(name):
    fmt = FORMATS[name]
    beyond = fmt.max_value if fmt.saturates else 2.0 ** (fmt.emax + 1)
    got = numeric(torch.tensor([INF, -INF, 1e300, 1.5, NAN], dtype=torch.float64), fmt)
    assert got[:4].tolist() == [beyond, -beyond, beyond, 1.5]
    assert bool(got[4].isnan())
