"""The metric against the contract's words in fractions, and the comparisons that broken ones get wrong."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
import torch

from fuzz.formats import FORMATS, Format, decode, encode, exponent, round_to, ulp
from fuzz.formats import steps as steps_between
from verify.oracle.target import Kind
from verify.oracle.values import ExactValues
from verify.ulp import NO_DISTANCE, error_ulp, misplaced, steps

TINY = Fraction(1, 1 << 400)
Exact = Fraction | float  # a float only for NaN and the infinities

every_format = pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)


def clamped(exact: Exact, fmt: Format) -> Fraction:
    limit = Fraction(fmt.max_value) if fmt.saturates else Fraction(2) ** (fmt.emax + 1)
    return limit if exact > limit else -limit if exact < -limit else Fraction(exact)


def is_special(exact: Exact, fmt: Format) -> bool:
    return math.isnan(exact) or (math.isinf(exact) and not fmt.saturates)


def exact_values(values: Sequence[Exact], fmt: Format, device: str = "cpu") -> ExactValues:
    """The record of these exact values, as an oracle would give it."""
    kinds, rounded, residuals, exponents = [], [], [], []
    for value in values:
        rounded.append(round_to(value, fmt))
        if is_special(value, fmt):
            kinds.append(Kind.NAN if math.isnan(value) else Kind.INFINITE)
            residuals.append(0.0)
            exponents.append(fmt.emin)
            continue
        exact = clamped(value, fmt)
        nearest = Fraction(2) ** (fmt.emax + 1) if math.isinf(rounded[-1]) else Fraction(abs(rounded[-1]))
        kinds.append(Kind.NUMBER)
        residuals.append(float((exact - (nearest if rounded[-1] > 0 else -nearest)) / ulp(exact, fmt)))
        exponents.append(max(exponent(exact), fmt.emin) if exact else fmt.emin)
    return ExactValues(
        kind=torch.tensor(kinds, dtype=torch.int8, device=device),
        rounded=torch.tensor(rounded, dtype=torch.float64, device=device),
        residual=torch.tensor(residuals, dtype=torch.float64, device=device),
        exponent=torch.tensor(exponents, dtype=torch.int32, device=device),
    )


def in_format(values: list[float], fmt: Format, device: str = "cpu") -> torch.Tensor:
    """A tensor of the format's dtype with these values of the format; e5m2's infinity is let through."""
    codes = [
        (fmt.max_code + 1) | (fmt.sign_bit if x < 0 else 0)
        if math.isinf(x) and fmt.has_inf
        else encode(x, fmt)
        for x in values
    ]
    signed = [code - (1 << fmt.bits) if fmt.bits > 8 and code >= fmt.sign_bit else code for code in codes]
    return torch.tensor(signed, dtype=fmt.int_dtype, device=device).view(fmt.torch_dtype)


def slow_error(got: float, exact: Exact, fmt: Format) -> Fraction | float:
    """The contract's section on accuracy, sentence by sentence."""
    if is_special(exact, fmt):
        return Fraction(0) if got == exact or (math.isnan(got) and math.isnan(exact)) else math.nan
    if math.isnan(got):
        return math.nan
    target = clamped(exact, fmt)
    number = math.copysign(2.0 ** (fmt.emax + 1), got) if math.isinf(got) else got
    unit = ulp(target, fmt)
    if target != 0 and abs(Fraction(number)) < Fraction(2) ** exponent(target):
        unit = ulp(Fraction(2) ** (exponent(target) - 1), fmt)
    return (Fraction(number) - target) / unit


def edges(fmt: Format) -> list[Fraction]:
    """Exact values beside every sort of boundary, not negative."""
    smallest, normal, largest = Fraction(decode(1, fmt)), Fraction(2) ** fmt.emin, Fraction(fmt.max_value)
    overflow = Fraction(2) ** (fmt.emax + 1)
    points = [smallest / 2, smallest, normal - smallest, normal, 2 * normal, Fraction(1), Fraction(2)]
    points += [largest, largest + ulp(largest, fmt) / 2, overflow, overflow * 2]
    return [Fraction(0), smallest / 1000, overflow**7, *(p + d for p in points for d in (-TINY, 0, TINY))]


def examples(fmt: Format) -> list[tuple[float, Exact]]:
    """Pairs of a value of the format and an exact value: near ones, edges against edges, specials, chance."""
    rng = random.Random(fmt.name)
    exacts = edges(fmt)
    exacts += [-x for x in exacts]
    gots = {round_to(x, fmt) for x in exacts} | {0.0, math.nan, fmt.max_value, -fmt.max_value}
    gots |= {decode(code, fmt) for code in (2, fmt.max_code - 1, encode(1.0, fmt) - 1, encode(1.0, fmt) + 1)}
    if fmt.has_inf:
        gots |= {math.inf, -math.inf}
    specials: list[Exact] = [math.nan, math.inf, -math.inf]
    pairs = [(got, exact) for got in gots for exact in [*exacts, *specials]]
    for _ in range(1000):
        code = rng.randint(0, fmt.max_code)
        got = decode(code, fmt)
        near = Fraction(got) + ulp(got, fmt) * Fraction(
            rng.randint(-(10**6), 10**6), rng.choice((3, 10**5, 10**6))
        )
        far = Fraction(decode(rng.randint(0, fmt.max_code), fmt)) + Fraction(rng.random()) * decode(1, fmt)
        sign = rng.choice((-1, 1))
        pairs += [(got, near), (-got, -near), (got, sign * far)]
    return pairs


def errors(fmt: Format, got: list[float], exact: Sequence[Exact]) -> list[float]:
    result: list[float] = error_ulp(in_format(got, fmt), exact_values(exact, fmt), fmt).tolist()
    return result


def distances(fmt: Format, got: list[float], exact: Sequence[Exact]) -> list[int]:
    result: list[int] = steps(in_format(got, fmt), exact_values(exact, fmt), fmt).tolist()
    return result


def accepted(got: torch.Tensor, exact: ExactValues, fmt: Format) -> list[bool]:
    """The question a judge asks, at the flat bound."""
    verdict: list[bool] = (error_ulp(got, exact, fmt).abs() <= 0.501).tolist()
    return verdict


@every_format
def test_error_agrees_with_the_contract_in_fractions(fmt):
    pairs = examples(fmt)
    got = in_format([g for g, _ in pairs], fmt)
    errors = error_ulp(got, exact_values([e for _, e in pairs], fmt), fmt)
    assert errors.dtype == torch.float64
    for (value, exact), error in zip(pairs, errors.tolist(), strict=True):
        expected = slow_error(value, exact, fmt)
        if math.isnan(expected):
            assert math.isnan(error), (value, exact)
        else:
            assert abs(Fraction(error) - Fraction(expected)) <= (abs(Fraction(expected)) + 1) / 2**51, (
                value,
                exact,
            )


@every_format
def test_steps_count_from_the_rounded_value(fmt):
    pairs = examples(fmt)
    got = in_format([g for g, _ in pairs], fmt)
    distances = steps(got, exact_values([e for _, e in pairs], fmt), fmt)
    assert distances.dtype == torch.int64
    for (value, exact), distance in zip(pairs, distances.tolist(), strict=True):
        if is_special(exact, fmt) or math.isnan(value):
            assert distance == (NO_DISTANCE if math.isnan(slow_error(value, exact, fmt)) else 0), (
                value,
                exact,
            )
        else:
            assert distance == steps_between(value, round_to(exact, fmt), fmt), (value, exact)


@every_format
def test_a_correctly_rounded_result_is_within_half_an_ulp(fmt):
    exacts: list[Exact] = [*edges(fmt), *(-x for x in edges(fmt)), math.nan, math.inf, -math.inf]
    exact = exact_values(exacts, fmt)
    got = in_format([round_to(x, fmt) for x in exacts], fmt)
    assert error_ulp(got, exact, fmt).abs().max() <= 0.5
    assert steps(got, exact, fmt).tolist() == [0] * len(exacts)


def test_binade_edges():
    fmt = FORMATS["bfloat16"]
    below, one, above = 1 - 2.0**-8, 1.0, 1 + 2.0**-7
    assert errors(fmt, [below, one, above, -1.0], [Fraction(1)] * 4) == [-1.0, 0.0, 1.0, -256.0]
    # From 1 − tiny the values 1 and 1 − 2^-8 are neighbours, and the ulp is the lower binade's.
    just_below = [Fraction(1) - Fraction(1, 1 << 20)] * 2
    assert errors(fmt, [below, one], just_below) == [-1 + 2.0**-12, 2.0**-12]
    # Below 2^emin the ulp no longer shrinks.
    normal = Fraction(2) ** fmt.emin
    assert errors(fmt, [float(normal - ulp(0, fmt)), 0.0], [normal] * 2) == [-1.0, -128.0]


def test_overflow_counts_infinity_as_the_next_power_of_two():
    fmt = FORMATS["float16"]
    assert errors(fmt, [math.inf, 65504.0], [Fraction(65520)] * 2) == [0.5, -0.5]
    assert errors(fmt, [math.inf, -math.inf], [Fraction(65504)] * 2) == [1.0, -4095.0]
    # What is far beyond is clamped to 65536, whose binade 65504 has fallen out of.
    assert errors(fmt, [math.inf, 65504.0], [Fraction(10) ** 30] * 2) == [0.0, -1.0]


def test_float8_is_judged_against_the_clamped_value():
    fmt = FORMATS["float8_e5m2"]
    assert errors(fmt, [57344.0, math.inf, 49152.0], [Fraction(10) ** 9] * 3) == [0.0, 1.0, -1.0]
    assert errors(fmt, [57344.0, math.inf], [math.inf] * 2) == [0.0, 1.0]


def test_the_ends_of_float32_neither_overflow_nor_underflow():
    fmt = FORMATS["float32"]
    smallest, largest = Fraction(1, 1 << 149), Fraction(fmt.max_value)
    assert errors(fmt, [fmt.max_value], [smallest]) == [float(largest / smallest - 1)]
    assert errors(fmt, [2.0**-149], [largest]) == [-(2.0**25 - 2)]
    assert errors(fmt, [2.0**-149], [smallest / 4]) == [0.75]
    assert distances(fmt, [fmt.max_value, -math.inf], [smallest, largest]) == [0x7F7FFFFE, 0xFEFFFFFF]


@every_format
def test_specials_are_compared_by_position(fmt):
    assert accepted(in_format([math.nan], fmt), exact_values([Fraction(1)], fmt), fmt) == [False]
    assert accepted(in_format([math.nan], fmt), exact_values([math.nan], fmt), fmt) == [True]
    assert accepted(in_format([0.0], fmt), exact_values([math.nan], fmt), fmt) == [False]
    zeros = torch.tensor([0.0, -0.0]).to(fmt.torch_dtype)
    assert accepted(zeros, exact_values([-TINY, TINY], fmt), fmt) == [True, True]
    assert accepted(zeros, exact_values([Fraction(0)] * 2, fmt), fmt) == [True, True]
    if fmt.has_inf:
        # The exact values 448 and −1 reach infinity in none of the formats.
        infinities = in_format([math.inf, -math.inf], fmt)
        assert accepted(infinities, exact_values([Fraction(448), Fraction(-1)], fmt), fmt) == [False] * 2
        if not fmt.saturates:
            assert accepted(infinities, exact_values([math.inf] * 2, fmt), fmt) == [True, False]
            assert accepted(infinities, exact_values([math.nan] * 2, fmt), fmt) == [False] * 2


@every_format
def test_zeroed_shuffled_and_flipped_results_are_rejected(fmt):
    values: list[Exact] = [Fraction(k, 7) for k in range(1, 200)]
    exact = exact_values(values, fmt)
    right = in_format([round_to(x, fmt) for x in values], fmt)
    assert all(accepted(right, exact, fmt))
    assert not any(accepted(torch.zeros_like(right.double()).to(right.dtype), exact, fmt))
    assert not any(accepted((-right.double()).to(right.dtype), exact, fmt))
    order = torch.arange(len(values)).roll(len(values) // 2)
    assert not any(accepted(right.double()[order].to(right.dtype), exact, fmt))


def test_misplaced_names_every_sort():
    fmt = FORMATS["float32"]
    table: list[tuple[float, Exact, str]] = [  # got, exact, mask
        (math.nan, Fraction(1), "spurious_nan"),
        (math.nan, math.inf, "spurious_nan"),
        (0.0, math.nan, "lost_nan"),
        (math.inf, math.nan, "lost_nan"),
        (1.0, math.inf, "lost_inf"),
        (-math.inf, math.inf, "lost_inf"),
        (math.inf, Fraction(1), "spurious_inf"),
        (-math.inf, Fraction(10) ** 40, "spurious_inf"),
        (math.inf, Fraction(10) ** 40, ""),
        (math.inf, math.inf, ""),
        (math.nan, math.nan, ""),
        (2.0, Fraction(1), ""),
    ]
    got, exact = in_format([row[0] for row in table], fmt), exact_values([row[1] for row in table], fmt)
    masks = misplaced(got, exact)
    for name in ("spurious_nan", "lost_nan", "lost_inf", "spurious_inf"):
        assert getattr(masks, name).tolist() == [row[2] == name for row in table]
    fails_before_arithmetic = masks.spurious_nan | masks.lost_nan | masks.lost_inf
    assert error_ulp(got, exact, fmt).isnan().tolist() == fails_before_arithmetic.tolist()
    assert (steps(got, exact, fmt) == NO_DISTANCE).tolist() == fails_before_arithmetic.tolist()


def test_shapes_and_dtypes_are_never_fitted():
    fmt = FORMATS["float32"]
    exact = exact_values([Fraction(1), Fraction(2)], fmt)
    for measure in (lambda got: error_ulp(got, exact, fmt), lambda got: steps(got, exact, fmt)):
        with pytest.raises(ValueError, match=r"shape \[1\]"):
            measure(torch.ones(1))
        with pytest.raises(ValueError, match=r"dtype torch\.int64"):
            measure(torch.ones(2, dtype=torch.int64))


@pytest.mark.gpu
@every_format
def test_a_gpu_measures_the_same_bits(fmt):
    pairs = examples(fmt)
    got, exact = [g for g, _ in pairs], [e for _, e in pairs]
    here, there = (
        (in_format(got, fmt, device), exact_values(exact, fmt, device)) for device in ("cpu", "cuda")
    )
    same = torch.testing.assert_close
    same(error_ulp(*there, fmt).cpu(), error_ulp(*here, fmt), rtol=0, atol=0, equal_nan=True)
    same(steps(*there, fmt).cpu(), steps(*here, fmt), rtol=0, atol=0)
