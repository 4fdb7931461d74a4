"""The promises of the families about values: exactly, in fractions or with thousands of bits."""

import math
from fractions import Fraction

import mpmath
import pytest
import torch

from fuzz.families import bit_patterns, cancellation, constant, huge_ranges, overflow, ties
from fuzz.formats import FORMATS, round_to
from fuzz.recipe import expand
from fuzz.tests.inspection import active, live, quotients, recipe

FINITE_MAX = (2 - 2**-23) * 2.0**127


def between(value: Fraction, fmt) -> tuple[Fraction, Fraction]:
    """Return the neighbours of a number in a format without an upper end: at most and at least the number."""
    exponent = fmt.emin
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    ulp = Fraction(2) ** (exponent - fmt.precision + 1)
    below = math.floor(value / ulp) * ulp
    return below, below if below == value else below + ulp


def is_halfway(value: Fraction, fmt) -> bool:
    below, above = between(value, fmt)
    return value - below == above - value > 0


@pytest.mark.parametrize("segments", [2, 3, 8, 19])
@pytest.mark.parametrize("dtype", FORMATS)
def test_ties_are_exactly_halfway_and_adjacent_ones_just_not(dtype, segments):
    fmt = FORMATS[dtype]
    exact = expand(recipe("ties", dtype, params={"kind": "exact"}, segments=segments))
    found = quotients(exact).values()
    assert all(is_halfway(value, fmt) for value in found)
    normal = [abs(value) >= Fraction(2) ** fmt.emin for value in found]
    assert any(normal)
    assert not all(normal)
    beside = expand(recipe("ties", dtype, params={"kind": "adjacent"}, segments=segments))
    for value in quotients(beside).values():
        below, above = between(value, fmt)
        assert abs((value - below) / (above - below) - Fraction(1, 2)) == Fraction(1, 2**16)
    if segments > 3:
        shares = exact.segm_output[0, 0, :, 0].to(torch.float64) * torch.exp2(
            exact.segm_max[0, 0].to(torch.float64)
        )
        assert int((shares != 0).sum()) > 2  # there is something that cancels


@pytest.mark.parametrize("dtype", FORMATS)
def test_perturbed_ties_are_ties_without_their_last_segment(dtype):
    fmt = FORMATS[dtype]
    case = expand(recipe("ties", dtype, params={"kind": "perturbed"}, segments=5))
    last = case.segm_max[..., 4]
    gaps = (case.segm_max[..., :4].amin(dim=-1).to(torch.float64) - last.to(torch.float64)).flatten().tolist()
    assert min(gaps) >= 60
    assert max(gaps) > 1e6
    y = case.segm_output[..., 4, :].to(torch.float64)
    assert bool((y != 0).all())
    assert {float(x) for x in y.sign().flatten()} == {-1.0, 1.0}
    assert bool((case.segm_expsum[..., 4] == 2.0**-149).all())
    case.segm_expsum[..., 4] = 0.0
    assert all(is_halfway(value, fmt) for value in quotients(case).values())


@pytest.mark.parametrize("dtype", FORMATS)
def test_constant_ties_have_one_quotient_over_irrational_weights(dtype):
    fmt = FORMATS[dtype]
    case = expand(recipe("ties", dtype, params={"kind": "constant"}))
    assert bool((case.segm_max != case.segm_max.floor()).any())
    for t in range(case.T):
        for h in range(case.H):
            for r in range(case.R):
                column = zip(
                    case.segm_output[t, h, :, r].tolist(), case.segm_expsum[t, h].tolist(), strict=True
                )
                values = {Fraction(o) / Fraction(s) for o, s in column}
                assert len(values) == 1
                assert is_halfway(values.pop(), fmt)


@pytest.mark.parametrize("dtype", FORMATS)
def test_binomial_ties_miss_halfway_by_less_than_any_ordinary_precision(dtype):
    fmt = FORMATS[dtype]
    case = expand(recipe("ties", dtype, params={"kind": "binomial"}, segments=19, tokens=6, rank=3))
    deepest = 0
    with mpmath.workprec(4000):
        for t in range(case.T):
            for h in range(case.H):
                here = live(case)[t, h].nonzero().flatten().tolist()
                weights = [mpmath.power(2, mpmath.mpf(float(case.segm_max[t, h, i]))) for i in here]
                assert [float(case.segm_max[t, h, i]) for i in here] == [
                    j * 2.0**-149 for j in range(len(here))
                ]
                den = sum(w * float(case.segm_expsum[t, h, i]) for w, i in zip(weights, here, strict=True))
                for r in range(case.R):
                    num = sum(
                        w * float(case.segm_output[t, h, i, r]) for w, i in zip(weights, here, strict=True)
                    )
                    y = num / den
                    # A tie is an odd multiple of half an ulp; y is nearest to the one that it misses.
                    half = -150 if dtype == "float32" else -fmt.precision
                    tie = Fraction(int(mpmath.nint(y * mpmath.mpf(2) ** -half))) * Fraction(2) ** half
                    assert is_halfway(tie, fmt)
                    distance = abs(y - mpmath.mpf(tie.numerator) / tie.denominator)
                    assert 0 < distance < abs(y) * mpmath.mpf(2) ** -280
                    deepest = max(deepest, int(-mpmath.log(distance / abs(y), 2)))
    assert deepest > {24: 2500, 11: 2000}.get(fmt.precision, 2500)
    assert ties.largest_order(fmt) == {24: 18, 11: 15}.get(fmt.precision, 18)


@pytest.mark.parametrize("dtype", FORMATS)
def test_overflow_edges_surround_the_largest_value(dtype):
    fmt = FORMATS[dtype]
    top, ulp = Fraction(fmt.max_value), Fraction(2) ** (fmt.emax - fmt.precision + 1)
    edge = expand(recipe("overflow", dtype, params={"kind": "edge"}, tokens=8, rank=12))
    distances = {(abs(value) - top) / ulp for value in quotients(edge).values()}
    assert all(abs(distance) <= 2 + Fraction(1, 2**16) for distance in distances)
    assert {Fraction(-1, 4), Fraction(0), Fraction(1, 2), Fraction(1)} <= distances
    assert {Fraction(1, 2) + Fraction(side, 2**16) for side in (-1, 1)} <= distances
    signs = {value > 0 for value in quotients(edge).values()}
    assert signs == {True, False}
    beyond = expand(recipe("overflow", dtype, params={"kind": "beyond"}, tokens=8, rank=12))
    ratios = [abs(value) / top for value in quotients(beyond).values()]
    assert max(ratios) > 1000
    assert min(ratios) > Fraction(1, 2)


@pytest.mark.parametrize("kind", [kind for kind in overflow.KINDS if kind not in ("edge", "beyond")])
def test_overflow_sums_leave_float32(kind):
    case = expand(recipe("overflow", "float32", params={"kind": kind}, tokens=6))
    assert bool(case.segm_output.isfinite().all())
    assert bool(case.segm_expsum.isfinite().all())
    if kind in ("sums", "both"):
        sums = case.segm_output.to(torch.float64).sum(dim=2).abs()
        assert float((sums > FINITE_MAX).to(torch.float64).mean()) > 0.5
        assert bool((case.segm_output.abs() >= 1.6e38).all())
    if kind in ("mass", "both"):
        assert bool((case.segm_expsum.to(torch.float64).sum(dim=-1) > FINITE_MAX).all())


@pytest.mark.parametrize("dtype", FORMATS)
def test_subnormal_results_lie_below_twice_the_smallest_normal(dtype):
    fmt = FORMATS[dtype]
    case = expand(recipe("subnormals", dtype, params={"kind": "results"}, tokens=6))
    values = [abs(value) for value in quotients(case).values()]
    smallest = Fraction(2) ** (fmt.emin - fmt.precision + 1)
    assert max(values) < 2 * Fraction(2) ** fmt.emin
    assert all((4 * value / smallest).denominator == 1 for value in values)
    assert any(0 < value < smallest for value in values)
    assert any(value and round_to(value, fmt) == 0.0 for value in values)
    assert any(value >= Fraction(2) ** fmt.emin / 2 for value in values)


@pytest.mark.parametrize("kind", ["inputs", "masses", "lse"])
def test_subnormal_inputs_and_logarithms(kind):
    case = expand(recipe("subnormals", params={"kind": kind}, tokens=6))
    tiny = 2.0**-126
    o, s, m = case.segm_output.abs(), case.segm_expsum, case.segm_max
    if kind in ("inputs", "masses"):
        assert bool(((o > 0) & (o < tiny)).all())
        assert bool((((s > 0) & (s < tiny)) == (kind == "masses")).all())
        exponents = torch.frexp(o).exponent.unique()
        assert exponents.numel() > 15
    else:
        assert bool(((m == 0).sum(dim=-1) == 1).all())
        assert bool((s[m == 0] == 1).all())
        rest = torch.where(m == 0, 0.0, s.to(torch.float64) * torch.exp2(m.to(torch.float64))).sum(dim=-1)
        assert bool((rest > 0).all())
        assert bool((rest < tiny * 64).all())
        assert bool((rest < tiny).any())


def test_cancellation_to_zero_and_to_any_depth():
    zero = expand(recipe("cancellation", params={"kind": "zero", "depth": 100}))
    assert set(quotients(zero).values()) == {0}
    assert bool(((zero.segm_output != 0).sum(dim=2) >= 2).all())
    depths = []
    case = expand(recipe("cancellation", "float32", params={"kind": "dyadic", "depth": 240}, tokens=6))
    for (t, h, r), value in quotients(case).items():
        den = sum(
            Fraction(s) * Fraction(2) ** int(m)
            for s, m in zip(case.segm_expsum[t, h].tolist(), case.segm_max[t, h].tolist(), strict=True)
        )
        largest = max(
            abs(Fraction(o)) * Fraction(2) ** int(m) / den
            for o, m in zip(case.segm_output[t, h, :, r].tolist(), case.segm_max[t, h].tolist(), strict=True)
        )
        assert value != 0
        depths.append(math.log2(largest / abs(value)))
    assert min(depths) < 24
    assert max(depths) > 100
    assert len({int(depth // 8) for depth in depths}) > 8


def test_chains_cancel_about_24_bits_a_link():
    with mpmath.workprec(300):
        roots = [mpmath.power(2, mpmath.mpf(k) / 4) for k in range(4)]
        for depth in range(1, 6):
            values = cancellation.chain(1.25, [1, 2, 3, 0, 1, 2], depth)
            assert sum(value != 0 for value in values) == depth + 1
            assert all(value == float(torch.tensor(value, dtype=torch.float32)) for value in values)
            rest = abs(sum(v * roots[q] for v, q in zip(values, [1, 2, 3, 0, 1, 2], strict=True)))
            assert mpmath.mpf(2) ** (-26 * depth - 8) < rest < mpmath.mpf(2) ** (-22 * depth + 1)


def test_irrational_cancellation_in_the_case():
    case = expand(recipe("cancellation", "float32", params={"kind": "irrational"}, tokens=4))
    fractions = (case.segm_max * 4).unique().tolist()
    assert fractions == [0.0, 1.0, 2.0, 3.0]
    depths = []
    with mpmath.workprec(300):
        for t in range(case.T):
            for h in range(case.H):
                weights = [mpmath.power(2, mpmath.mpf(m)) for m in case.segm_max[t, h].tolist()]
                for r in range(case.R):
                    parts = [
                        w * o for w, o in zip(weights, case.segm_output[t, h, :, r].tolist(), strict=True)
                    ]
                    depths.append(float(mpmath.log(max(map(abs, parts)) / abs(sum(parts)), 2)))
    assert min(depths) > 15
    assert max(depths) > 90


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("kind", constant.KINDS)
def test_constant_rows_have_one_quotient_that_the_format_holds(kind, dtype):
    fmt = FORMATS[dtype]
    case = expand(recipe("constant", dtype, params={"kind": kind}))
    seen = set()
    for t in range(case.T):
        for h in range(case.H):
            for r in range(case.R):
                column = zip(
                    case.segm_output[t, h, :, r].tolist(), case.segm_expsum[t, h].tolist(), strict=True
                )
                values = {Fraction(o) / Fraction(s) for o, s in column}
                assert len(values) == 1
                value = values.pop()
                assert Fraction(round_to(value, fmt)) == value
                seen.add(value)
    assert len(seen) > case.outputs // 3
    whole = bool((case.segm_max == case.segm_max.floor()).all())
    assert whole == (kind == "integer_maxima")


@pytest.mark.parametrize("gap", huge_ranges.GAPS)
def test_huge_ranges_has_the_distances_it_names(gap):
    case = expand(recipe("huge_ranges", params={"gap": gap}, tokens=12, heads=8))
    m = case.segm_max.to(torch.float64)
    assert bool(case.segm_max.isfinite().all())
    distances = (m.amax(dim=-1, keepdim=True) - m).flatten().tolist()
    low = min(huge_ranges.GAPS[gap])
    found = {value for value in huge_ranges.GAPS[gap] if value in distances}
    assert len(found) >= len(huge_ranges.GAPS[gap]) // 3, (gap, found)
    assert any(distance >= low for distance in distances)
    near = {"normal_edge": 126, "subnormal_edge": 149, "double_edge": 512}.get(gap)
    assert near is None or near in distances


@pytest.mark.parametrize(
    ("gap", "given_back", "least"),
    [("normal_edge", "normal", 125), ("twice_edge", "far", 252), ("thrice_edge", "far", 330)],
)
def test_weights_that_are_given_back_still_matter(gap, given_back, least):
    params = {"gap": gap, "given_back": given_back, "lengths": "full"}
    case = expand(recipe("huge_ranges", params=params, tokens=8))
    assert bool(case.segm_expsum.isfinite().all())
    o, m, s = (x.to(torch.float64) for x in (case.segm_output, case.segm_max, case.segm_expsum))
    below = m.amax(dim=-1, keepdim=True) - m
    mass = s * torch.exp2(-below)
    share = mass / mass.sum(dim=-1, keepdim=True)
    assert bool(((below >= least) & (share > 2.0**-24)).any()) is (gap != "thrice_edge")
    # Alone, a far value is the output, as float32 holds it.
    value = (o * torch.exp2(-below)[..., None] / mass.sum(dim=-1)[..., None, None]).abs()
    near = torch.where((below < 8)[..., None], value, 0.0).amax((2, 3))
    far = torch.where((below >= least)[..., None], value, 0.0).amax((2, 3))
    assert bool(((near == 0) & (far > 2.0**-140)).any())


@pytest.mark.parametrize("kind", bit_patterns.KINDS)
def test_bit_patterns_are_uniform(kind):
    case = expand(recipe("bit_patterns", params={"kind": kind}, tokens=16, heads=8, segments=16))
    m, s, o = (tensor[active(case)] for tensor in (case.segm_max, case.segm_expsum, case.segm_output))
    exponents = (o.view(torch.int32) >> 23 & 0xFF).unique().numel()
    if kind == "any":
        assert exponents == 256
        assert bool(m.isnan().any()) and bool((s < 0).any()) and bool(o.isnan().any())  # noqa: PT018
        return
    assert exponents == 255
    assert bool(o.isfinite().all()) and bool(m.isfinite().all()) and bool(s.isfinite().all())  # noqa: PT018
    assert bool((s > 0).all())
    assert float(m.max() - m.min()) > (1e30 if kind == "finite" else 30)
    assert kind == "finite" or bool((m.abs() <= 32).all())
