"""The bounds of a float32 merge: the formula in many digits, who keeps it and who does not."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch

from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.recipe import expand
from fuzz.strategies import Size
from verify.bounds import load_bounds, second_terms
from verify.bounds.float32 import Float32Bounds
from verify.bounds.tests.float32_merges import HONEST, Float32Merge, off_by, returned
from verify.judge import judge, keeps_fp32
from verify.observed import FaultKind
from verify.tests.judging import FP32, case, exact_of, judged

SMALL = Size(outputs=1024, elements=1 << 14)
FULL = [1.0] * 2


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # on tensors this small, threads wait for each other
    yield
    torch.set_num_threads(before)


def drawn(count, seed=11):
    return [expand(draw_recipe(seed, number, SMALL)) for number in range(count)]


def by_hand(m, s, o):
    """Return the two second terms in 60 digits, with the constants 8, 12 and 7."""
    with mpmath.workdps(60):
        top, size = max(m), len(m)
        gap = [abs(mpmath.mpf(x) - top) for x in m]
        w = [mpmath.power(2, -g) for g in gap]
        den = sum(mpmath.mpf(a) * b for a, b in zip(s, w, strict=True))
        y = abs(sum(mpmath.mpf(a) * b for a, b in zip(o, w, strict=True))) / den
        parts = list(zip(o, s, w, [size + mpmath.log(2) * g for g in gap], strict=True))
        of_o = sum((h + 8) * abs(a) * b for a, _, b, h in parts)
        of_s = sum((h + 12) * c * b for _, c, b, h in parts)
        lost = sum(abs(a) + y * c for a, c, b, _ in parts if b < mpmath.power(2, -126))
        output = mpmath.power(2, -24) * (of_o + y * of_s) / den + mpmath.power(2, -126) * lost / den
        of_lse = sum((h + 8) * c * b for _, c, b, h in parts) / den
        of_lse += 2 * abs(mpmath.mpf(top)) * mpmath.log(2) + 7 * abs(mpmath.log(den))
        lost = sum(c for _, c, b, _ in parts if b < mpmath.power(2, -126))
        lse = mpmath.power(2, -24) * of_lse + mpmath.power(2, -126) * lost / den
        return float(output), float(lse)


@pytest.mark.parametrize(
    ("m", "s", "o"),
    [
        ([0.0, -3.5, 5.25], [1.5, 2.0, 0.25], [1.0, -7.0, 3.5]),
        ([-7.75], [1.25], [0.5]),
        ([1.0, -125.5, -126.5, -400.0], [1.0, 3.0, 2.0**100, 1.0], [1.0, 1.0, 2.0**126, -3.0]),
        ([0.0, -126.0], [1.0, 2.0**90], [1.0, 2.0**120]),  # 2^-126 itself does not vanish
    ],
)
def test_the_second_terms_follow_the_formula(m, s, o):
    terms = second_terms(case(m, s, o), FP32)
    output, lse = by_hand(m, s, o)
    assert terms.output.item() == pytest.approx(output, rel=1e-9, abs=0.0)
    assert terms.lse.item() == pytest.approx(lse, rel=1e-9, abs=0.0)
    assert terms.out_of_domain == {}


def test_the_constants_follow_from_the_functions_of_a_backend():
    assert isinstance(FP32, Float32Bounds)
    backends = {backend.name: backend for backend in FP32.backends}
    for name, logarithm in (("cuda", 4), ("hip", 4), ("cpu", 7)):
        backend = backends[name]
        assert (FP32.numerator(backend), FP32.denominator(backend)) == (8, 12)
        assert FP32.logarithm(backend) == logarithm
    assert FP32.on(torch.device("cpu")).name == "cpu"


def test_the_functions_of_a_cpu_are_as_near_as_the_file_says():
    assert isinstance(FP32, Float32Bounds)
    cpu = FP32.on(torch.device("cpu"))
    step = 4093  # a prime: other significands in every binade
    pattern = np.arange(0x0080_0000, 0x7F80_0000, step, dtype=np.uint32)
    every = pattern.view(np.float32)
    negative = -every[(every > 2.0**-30) & (every < 126)]
    for values, limit, ours, exact in (
        (negative, cpu.exp2, (np.exp2, lambda x: torch.from_numpy(x).exp2().numpy()), np.exp2),
        (every, cpu.log2, (np.log2, lambda x: torch.from_numpy(x).log2().numpy()), np.log2),
    ):
        right = exact(values.astype(np.float64))
        unit = np.exp2(np.floor(np.log2(np.abs(right).clip(2.0**-126))) - 23)
        for function in ours:
            error = np.abs(function(values).astype(np.float64) - right) / unit
            assert error.max() < limit
        assert error.max() > 0.4


ROUNDS = 16


def test_honest_merges_keep_the_bounds_on_every_family_and_not_the_default_ones():
    beyond_default = dict.fromkeys(HONEST, 0)
    cases = drawn(ROUNDS * len(DRAWN))
    assert len(cases) >= 300
    spoken = dict.fromkeys(DRAWN, 0)
    for number, here in enumerate(cases):
        exact = exact_of(here)
        for name, merge in HONEST.items():
            got = merge(here)
            verdict = judge(here, got, exact, FP32)
            assert not verdict.faults, (name, number, verdict.faults)
            beyond_default[name] += number % 4 == 0 and bool(judge(here, got, exact, load_bounds()).faults)
        assert here.recipe is not None
        spoken[here.recipe.family] += int(verdict.output.number.sum())
    assert all(spoken.values()), spoken
    assert min(beyond_default.values()) > len(cases) / 8, beyond_default


class LowPrecisionWeights(Float32Merge):
    def exp2(self, x):
        return super().exp2(x).bfloat16().float()


class Epsilon(Float32Merge):
    def divided(self, num, den):
        return super().divided(num, den + 1e-4)


class Biased(Float32Merge):
    def divided(self, num, den):
        return super().divided(num, den) * (1 + 2.0**-17)


class BaseTwo(Float32Merge):
    def logarithm(self, top, den):
        return top + den.log2()


class FlushesTooSoon(Float32Merge):
    def exp2(self, x):
        return torch.where(x < -20, 0.0, super().exp2(x))


@pytest.mark.parametrize("faulty", [LowPrecisionWeights, Epsilon, Biased, BaseTwo, FlushesTooSoon])
def test_worse_than_float32_is_beyond_the_bounds(faulty):
    merge = faulty()
    assert any(judged(merge, here).faults for here in drawn(4 * len(DRAWN)))


def crossing():
    """A case whose float32 quotient lies one binade above the exact one.

    The difference −64 − 0.99·2^-18 of the maxima is rounded to −64, by nearly half an ulp, and what two
    partials leave of each other is small enough for that to be half an ulp of the output.
    """
    top = 0.99 * 2.0**-18
    kept = Fraction(196, 2**23)
    lost = (1 + kept) * Fraction(-math.expm1(-top * math.log(2)))
    den = float((kept - lost) * (1 + Fraction(1, 2**18)))
    return case([top, -64.0], [den, 1e-30], [-1.0, 2.0**64 * float(1 + kept)], "float8_e5m2")


def test_a_result_may_be_a_rounding_of_anything_within_the_second_term(monkeypatch):
    here = crossing()
    exact = exact_of(here)
    got = Float32Merge()(here)
    verdict = judge(here, got, exact, FP32)
    assert exact.output.rounded.item() == 1.0
    assert exact.output.residual.item() < 0  # the exact value lies in the binade below
    assert got.output.double().item() == 1.25
    assert not verdict.faults
    assert verdict.output.judged.item() <= FP32.ulp
    # With half an ulp of the exact value's own binade an honest merge would be refused.
    monkeypatch.setattr(Float32Bounds, "at_result", False)
    assert judge(here, got, exact, FP32).faults


@pytest.mark.parametrize("code", [3, 4])
def test_a_higher_binade_excuses_no_more_than_its_rounding(code):
    here = crossing()
    wrong = Float32Merge()(here)
    wrong.output.view(torch.uint8).add_(code)
    (fault,) = judge(here, wrong, exact_of(here), FP32).faults
    assert fault.kind is FaultKind.WRONG_VALUE


def test_the_first_term_is_half_an_ulp_in_the_binade_of_the_exact_value_or_the_result():
    here = case([0.0, 0.0], FULL, [491.0, -(489.0 - 2.0**-14)], "float16")
    # 1 + 2^-15, and half of what cancels is 490.
    term = 2.0**-24 * ((2 + 8) * 490.0 + (2 + 12) * 1.0)
    for got, unit, half in ((1.0, 2.0**-10, 0.5), (1.0 - 2.0**-11, 2.0**-11, 0.5), (2.0, 2.0**-10, 1.0)):
        result = returned(torch.tensor([[[got]]], dtype=torch.float16), torch.tensor([[math.log(2.0)]]))
        output = judge(here, result, exact_of(here), FP32).output
        assert output.bound.item() == pytest.approx(half + term / unit, rel=1e-4, abs=0.0)
        assert output.failed.item() is (got == 2.0)


def test_a_vanished_weight_is_paid_to_the_last_bit():
    here = case([0.0, float(np.nextafter(np.float32(-126), np.float32(-127)))], [1.0, 1.0], [0.0, 2.0**126])
    margins = {}
    for flush in (True, False):
        verdict = judged(Float32Merge(flush=flush), here)
        assert not verdict.faults
        margins[flush] = float(verdict.output.error.abs() / verdict.output.bound)
    assert 0.99 < margins[True] <= 1.0
    assert margins[False] < 0.1


def test_keeps_fp32_tells_the_arithmetic_from_the_fault():
    here = case([0.0, -1.3], [1.0, 1.7], [1.0, 3.1])
    exact = exact_of(here)
    assert keeps_fp32(here, HONEST["library"](here), exact)
    assert not keeps_fp32(here, LowPrecisionWeights()(here), exact)
    assert not keeps_fp32(here, BaseTwo()(here), exact)


def test_the_rough_functions_of_the_merges_are_as_rough_as_they_say():
    exact = torch.linspace(0.01, 4.0, 10_000, dtype=torch.float64)
    unit = 2.0 ** (exact.log2().floor() - 23)
    error = ((off_by(exact, 1.55).double() - exact) / unit).abs()
    assert 2.0 < float(error.max()) <= 2.05


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["default", "fp32"])
def test_a_gpu_speaks_of_the_same_values_with_the_same_terms(name):
    bounds = load_bounds(name)
    for here in drawn(len(DRAWN)):
        on_cpu, on_gpu = second_terms(here, bounds), second_terms(here.to("cuda"), bounds)
        torch.testing.assert_close(on_gpu.output.cpu(), on_cpu.output, rtol=1e-9, atol=0.0)
        assert torch.equal(on_gpu.lse.isinf().cpu(), on_cpu.lse.isinf())
        assert on_gpu.out_of_domain == on_cpu.out_of_domain
