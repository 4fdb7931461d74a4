"""The hash: known answers, independence of shape and order, and what is made of its words."""

import math
from fractions import Fraction

import mpmath
import torch

from fuzz.bits import Stream, exponent_of, float32_pattern, mix, power_of_two, scale_by_power
from fuzz.exp2 import exp2

MASK = (1 << 64) - 1


def splitmix(word: int) -> int:
    """Return the published finaliser, in unbounded integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def test_mix_is_the_finaliser_of_splitmix64():
    words = [0, 1, -1, 2**63 - 1, -(2**63), 0x123456789ABCDEF, -987654321]
    got = [word & MASK for word in mix(torch.tensor(words)).tolist()]
    assert got == [splitmix(word & MASK) for word in words]
    # The generator's published first output for seed 0 is the finaliser of its increment.
    assert splitmix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF


def test_an_element_keeps_its_word_when_the_tensor_changes_shape():
    stream = Stream(seed=3)
    large = stream.words("x", 4, 5, 6, 7)
    assert torch.equal(stream.words("x", 2, 5, 3, 7), large[:2, :, :3])
    assert not torch.equal(stream.words("y", 4, 5, 6, 7), large)
    assert not torch.equal(Stream(seed=4).words("x", 4, 5, 6, 7), large)
    assert large.unique().numel() == large.numel()


def test_words_are_spread_evenly():
    words = Stream(seed=0).below("even", 16, 64, 64, 4)
    counts = torch.bincount(words.flatten(), minlength=16).to(torch.float64)
    expected = words.numel() / 16
    # 15 degrees of freedom: beyond 45 lies less than one seed in ten thousand, and the seed is fixed.
    assert float(((counts - expected) ** 2 / expected).sum()) < 45


def test_spans_and_choices_reach_their_ends_and_no_further():
    stream = Stream(seed=1)
    assert stream.span("s", -2, 3, 500).unique().tolist() == [-2, -1, 0, 1, 2, 3]
    assert stream.signs("±", 100).unique().tolist() == [-1.0, 1.0]
    assert stream.one_of("v", (0.5, 7.0), 100).unique().tolist() == [0.5, 7.0]
    unit = stream.unit("u", 1000)
    assert 0 <= float(unit.min()) < 0.01
    assert 0.99 < float(unit.max()) < 1
    spread = stream.spread("w", -3, 4, 2000)
    assert exponent_of(spread).unique().tolist() == list(range(-3, 5))
    assert torch.equal(spread, spread.to(torch.float32).to(torch.float64))


def test_bit_patterns_reach_every_exponent_and_both_signs():
    codes = Stream(seed=2).patterns("p", 1 << 14).view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    assert ((codes >> 23) & 0xFF).unique().numel() == 256
    assert (codes >> 31).unique().tolist() == [0, 1]
    assert float32_pattern(torch.tensor([0x3F800000, 0xBF800000, 1])).tolist() == [1.0, -1.0, 2.0**-149]


def test_powers_of_two_are_exact():
    exponents = torch.arange(-1022, 1024)
    assert power_of_two(exponents).tolist() == [math.ldexp(1.0, e) for e in range(-1022, 1024)]
    scaled = scale_by_power(torch.tensor([3.0, 1.0, 5.0]), torch.tensor([-1074, 1023, 0]))
    assert scaled.tolist() == [math.ldexp(3.0, -1074), math.ldexp(1.0, 1023), 5.0]
    assert exponent_of(torch.tensor([1.0, 1.5, 0.999, 2.0**-149, 0.0])).tolist() == [0, 0, -1, -149, -1023]


def test_exp2_is_accurate_and_exact_where_it_can_be():
    points = (Stream(seed=5).unit("x", 400) * 600 - 450).tolist()
    with mpmath.workprec(200):
        for x, got in zip(points, exp2(torch.tensor(points, dtype=torch.float64)).tolist(), strict=True):
            exact = mpmath.power(2, mpmath.mpf(x))
            assert abs(mpmath.mpf(got) / exact - 1) < mpmath.mpf(2) ** -51
    whole = torch.arange(-1000, 1024, dtype=torch.float64)
    assert torch.equal(exp2(whole), power_of_two(whole.to(torch.int64)))
    edges = exp2(torch.tensor([-math.inf, math.inf, math.nan, -1000.5, 1024.0]))
    assert edges[:2].tolist() == [0.0, math.inf]
    assert math.isnan(edges[2])
    assert edges[3:].tolist() == [0.0, math.inf]


def test_unit_values_are_held_by_float32():
    values = Stream(seed=6).unit("u", 200)
    assert all(Fraction(x).denominator <= 1 << 24 for x in values.tolist())
