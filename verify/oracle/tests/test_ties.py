"""Ties, and values that differ from a tie by less than any fixed precision sees."""

import math
from fractions import Fraction
from random import Random

import pytest

from verify.oracle.dyadic import enclose, power, sign, to_units
from verify.oracle.tests.seven import BFLOAT16, FORMATS
from verify.oracle.tests.test_situations import merge, numbers

FAR = [-1000.0, -1000000.0, -3e38]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "float32"])
@pytest.mark.parametrize("midpoint", [1, 3, -1])
def test_ties_go_to_even_whatever_the_maxima(name, midpoint):
    fmt = FORMATS[name]
    ulp = 2.0 ** (1 - fmt.precision)
    c = 2 - ulp / 2 if midpoint < 0 else 1 + midpoint * ulp / 2
    n = math.floor(c / ulp)
    m, s = [0.3, -7.25, 0.3, 12.0], [3.0, 0.5, 1.0, 2.0]
    exact = merge(m, s, [[c * x, -c * x] for x in s], fmt)
    even = (n + (n & 1)) * ulp
    assert numbers(exact) == [even, -even]
    assert exact.output.residual.flatten().tolist() == [(c - even) / ulp, (even - c) / ulp]


@pytest.mark.parametrize("last", [0, 1])
def test_ties_of_float32_by_symmetry(last):
    ulp = 2.0**-23
    low, high = 1 + last * ulp, 1 + (last + 1) * ulp
    exact = merge([0.3, 0.3, -5.5, -5.5], [1.0] * 4, [[low], [high], [low], [high]])
    assert numbers(exact) == [high if last else low]
    assert exact.output.residual.item() == (-0.5 if last else 0.5)


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("negative", [False, True])
def test_tie_perturbed_from_far_away(far, direction, negative):
    flip = -1 if negative else 1
    o = [flip * 257.0, flip * (257.0 + direction)]  # a tie of bfloat16, 1 + 2^-8, and something next to it
    exact = merge([0.0, far], [256.0, 256.0], [[x] for x in o], BFLOAT16)
    assert numbers(exact) == [flip * (1 + 2.0**-7 if direction > 0 else 1.0)]
    # upwards: it rounds up by half an ulp less almost nothing, so the exact value is below the rounded one
    assert exact.output.residual.item() == pytest.approx(
        -flip * 0.5 if direction > 0 else flip * 0.5, abs=2.0**-12
    )


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_power_of_two_perturbed_from_far_away(far, direction):
    exact = merge([0.5, far], [2.0, 2.0], [[4.0], [4.0 + direction]], BFLOAT16)
    assert numbers(exact) == [2.0]
    assert exact.output.exponent.item() == (0 if direction < 0 else 1)
    assert exact.output.residual.item() == pytest.approx(0.0, abs=2.0**-12)


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_overflow_midpoint_perturbed_from_far_away(far, direction):
    tie = 2.0**127 * (1 - 2.0**-9)  # over 1/2 that is 2^128·(1 − 2^-9), the midpoint above the largest
    ratio = 2.0**28 * (1 - 2.0**-9) * (1 + direction * 2.0**-8)  # over 2^-100
    exact = merge([0.0, far], [0.5, 2.0**-100], [[tie], [ratio]], BFLOAT16)
    assert numbers(exact) == [BFLOAT16.max_value if direction < 0 else math.inf]
    assert exact.output.residual.item() == pytest.approx(0.5 if direction < 0 else -0.5, abs=2.0**-12)


@pytest.mark.parametrize("n", range(2, 19))
@pytest.mark.parametrize("outward", [1, -1])
def test_binomial_family(n, outward):
    """Σ (−1)^j·C(n,j)·x^j = (1 − x)^n with x = 2^(2^-149): all but cancelled, down to 2^-2691."""
    m = [j * 2.0**-149 for j in range(n + 1)]
    s = [256.0 * math.comb(n, j) for j in range(n + 1)]
    o = [[257.0 * math.comb(n, j) + outward * (-1) ** j * math.comb(n, j)] for j in range(n + 1)]
    exact = merge(m, s, o, BFLOAT16)
    above = (-1) ** n * outward > 0
    assert numbers(exact) == [1 + 2.0**-7 if above else 1.0]
    assert exact.output.residual.item() == pytest.approx(-0.5 if above else 0.5, abs=2.0**-12)


def test_binomial_family_reaches_its_depth():
    n = 18
    terms = [((-1) ** j * math.comb(n, j), j) for j in range(n + 1)]
    enclosure = enclose(terms, 20)
    assert enclosure is not None
    # |1 − 2^(2^-149)| is about ln 2·2^-149
    assert enclosure.hi.bit_length() + enclosure.exponent == pytest.approx(
        -149 * n + n * math.log2(math.log(2)), abs=2
    )
    assert enclosure.bits > 149 * n


def test_sums_that_cancel():
    big, tiny = 2.0**127, 2.0**-149
    exact = merge([0.25] * 3, [1.0] * 3, [[big, big, 1.0], [-big, -big, -1.0], [tiny, 0.0, 0.0]])
    assert numbers(exact) == [0.0, 0.0, 0.0]  # tiny/3 rounds to 0, the others are 0
    assert exact.output.residual.flatten().tolist() == [pytest.approx(1 / 3, abs=2.0**-12), 0.0, 0.0]
    exact = merge([0.0, 1.0, -120.0], [1.0, 1.0, 1.0], [[2.0], [-1.0], [tiny]])
    assert numbers(exact) == [0.0]
    assert exact.output.residual.item() == pytest.approx(2.0**-120 / 3, abs=2.0**-12)
    exact = merge([0.0, 1.0, -120.0], [1.0, 1.0, 1.0], [[2.0], [-1.0], [big]])
    assert numbers(exact) == [pytest.approx(128 / 3, rel=1e-7)]
    exact = merge([3e38, 3e38, -3e38], [1.0, 1.0, 1.0], [[1.0], [-1.0], [big]])
    assert numbers(exact) == [0.0]
    assert exact.output.residual.item() == pytest.approx(0.0, abs=2.0**-12)


def test_mass_of_one():
    exact = merge([0.0], [1.0], [[1.0]])
    assert (exact.lse.rounded.item(), exact.lse.residual.item(), exact.lse.exponent.item()) == (
        0.0,
        0.0,
        -126,
    )
    assert merge([149.0], [2.0**-149], [[1.0]]).lse.rounded.item() == 0.0


@pytest.mark.parametrize("far", FAR)
def test_mass_next_to_one(far):
    exact = merge([0.0, far], [1.0, 1.0], [[1.0], [1.0]])
    assert exact.lse.rounded.item() == 0.0
    assert exact.lse.residual.item() == pytest.approx(0.0, abs=2.0**-12)
    assert exact.lse.exponent.item() == -126


def test_mass_exactly_one_by_several_segments():
    exact = merge([-1.0, -2.0, 3.0], [1.0, 1.0, 2.0**-5], [[1.0]] * 3)
    assert (exact.lse.rounded.item(), exact.lse.residual.item()) == (0.0, 0.0)
    step = 2.0**-26  # the least change of the last mass, which is 2^-5·8 = 1/4
    exact = merge([-1.0, -2.0, 3.0], [1.0, 1.0, 2.0**-5 * (1 - step * 4)], [[1.0]] * 3)
    assert exact.lse.rounded.item() == pytest.approx(-step, rel=1e-6, abs=0.0)


def test_subnormal_lse():
    delta = 2.0**-140
    exact = merge([0.0, 0.0], [1.0, delta], [[1.0], [1.0]])
    assert exact.lse.rounded.item() == delta
    assert exact.lse.exponent.item() == -126
    exact = merge([0.0, -149.5], [1.0, 1.0], [[1.0], [1.0]])
    assert exact.lse.rounded.item() == 2.0**-149
    assert exact.lse.residual.item() == pytest.approx(2.0**-0.5 - 1, abs=2.0**-12)


def test_extreme_maxima():
    exact = merge([3.4e38], [1.0], [[1.0]])
    assert exact.lse.rounded.item() == pytest.approx(3.4e38 * math.log(2), rel=1e-7)
    exact = merge([-3.4e38], [2.0**-149], [[1.0]])
    assert exact.lse.rounded.item() == pytest.approx(-3.4e38 * math.log(2), rel=1e-7)


def test_sign_of_sparse_sums():
    def units(c: int, m: float) -> tuple[int, int]:
        return c, to_units(m)

    assert sign([]) == 0
    assert sign([units(1, 3e38), units(-1, 3e38)]) == 0
    assert sign([units(2, -3e38), units(-1, -3e38), units(-1, -3e38)]) == 0
    assert sign([units(1, 0.0), units(-2, -1.0), units(1, -3e38)]) == 1
    assert sign([units(1, 0.5), units(-2, -0.5), units(-1, -3e38)]) == -1
    # carries climb through 300 halvings: Σ 2^-j over j = 1…300, and 2^-300, make 1
    chain = [units(-1, 0.0), *[units(1, -float(j)) for j in range(1, 301)]]
    assert sign(chain) == -1
    assert sign([*chain, units(1, -300.0)]) == 0
    assert sign([*chain, units(1, -300.0), units(1, -301.0), units(-1, -301.5)]) == 1


def test_enclosures_hold_the_value():
    enclosure = enclose([(3, to_units(1.0)), (-1, to_units(-2.0)), (7, to_units(0.0))], 50)
    assert enclosure is not None
    exact = Fraction(13) - Fraction(1, 4)
    unit = Fraction(2) ** enclosure.exponent
    assert enclosure.lo * unit <= exact <= enclosure.hi * unit
    assert (enclosure.hi - enclosure.lo) * unit <= exact / 2**50


def test_powers_of_the_table_are_those_of_a_finer_evaluation():
    random = Random(3)
    fractions = [0, 1, 31, 32, (1 << 149) - 1, *(1 << bit for bit in range(149))]
    fractions += [random.getrandbits(24) << random.randint(0, 125) for _ in range(300)]
    for fraction in fractions:
        fine = power(fraction, 1024)  # beyond the table: mpmath's own
        for bits in (64, 192, 512):
            assert abs((power(fraction, bits) << (1024 - bits)) - fine) * 100 <= 101 << (1024 - bits)
