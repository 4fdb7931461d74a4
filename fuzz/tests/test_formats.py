"""The table of formats against ml_dtypes, numpy and torch, over every bit pattern of the narrow ones."""

import math
import random
import struct
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import torch

from fuzz.formats import (
    FORMATS,
    Format,
    decode,
    encode,
    exponent,
    format_named,
    ordinal,
    round_to,
    steps,
    ulp,
)

FLOAT32 = FORMATS["float32"]
NARROW = [fmt for fmt in FORMATS.values() if fmt.bits < 32]
TINY = Fraction(1, 1 << 400)

every_narrow_format = pytest.mark.parametrize("fmt", NARROW, ids=lambda fmt: fmt.name)
every_format = pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)


def witness_dtype(fmt: Format) -> npt.DTypeLike:
    return np.float16 if fmt.name == "float16" else getattr(ml_dtypes, fmt.name)


def unsigned(fmt: Format) -> npt.DTypeLike:
    return np.uint8 if fmt.bits == 8 else np.uint16


def witness_values(fmt: Format) -> npt.NDArray[np.float64]:
    """The value of every code of a narrow format, by the witness."""
    with np.errstate(invalid="ignore"):  # numpy reports the signalling NaNs among the patterns
        return np.arange(1 << fmt.bits).astype(unsigned(fmt)).view(witness_dtype(fmt)).astype(np.float64)


def witness_magnitudes(fmt: Format) -> list[float]:
    """Every finite non-negative value in rising order; its index is its code."""
    values = witness_values(fmt)[: fmt.sign_bit]
    finite: list[float] = values[np.isfinite(values)].tolist()
    return finite


def same(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> bool:
    """Equal values, NaN at the same places, and equal signs of zero."""
    numbers = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a[numbers]), np.signbit(b[numbers])
    )


def float32_of(code: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", code))[0]
    return value


def test_names_follow_torch_and_the_table_is_consistent():
    assert list(FORMATS) == [
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    ]
    for name, fmt in FORMATS.items():
        info = torch.finfo(fmt.torch_dtype)
        assert (fmt.name, fmt.bits, fmt.max_value) == (name, info.bits, info.max)
        assert 2.0**fmt.emin == info.tiny
        # torch's own eps of float8_e5m2fnuz is half of the truth, so the witness is asked.
        assert fmt.precision == ml_dtypes.finfo(witness_dtype(fmt) if fmt.bits < 32 else np.float32).nmant + 1
        assert 2.0**fmt.emax <= fmt.max_value < 2.0 ** (fmt.emax + 1)
        assert torch.empty(3, dtype=fmt.torch_dtype).view(fmt.int_dtype).shape == (3,)
        assert fmt.saturates == name.startswith("float8")


def test_an_unknown_name_is_refused_with_the_names_that_exist():
    with pytest.raises(ValueError, match=r"'float7'.*float32.*float8_e5m2fnuz"):
        format_named("float7")
    assert format_named("bfloat16") is FORMATS["bfloat16"]


@every_narrow_format
def test_decode_agrees_with_the_witness_on_every_code(fmt):
    assert same(np.array([decode(code, fmt) for code in range(1 << fmt.bits)]), witness_values(fmt))


@every_narrow_format
def test_torch_widens_every_code_exactly(fmt):
    codes = torch.arange(1 << fmt.bits, dtype=torch.int32).to(torch.uint8 if fmt.bits == 8 else torch.uint16)
    widened = codes.view(fmt.torch_dtype).to(torch.float64)
    assert same(widened.numpy(), witness_values(fmt))


@every_narrow_format
def test_encode_undoes_decode(fmt):
    for code in range(1 << fmt.bits):
        value = decode(code, fmt)
        if math.isnan(value):
            assert encode(value, fmt) == fmt.nan_code
        elif math.isinf(value) and fmt.saturates:
            assert round_to(value, fmt) == math.copysign(fmt.max_value, value)
        else:
            assert encode(value, fmt) == code


@every_narrow_format
def test_every_midpoint_rounds_to_even_and_a_hair_beside_it_to_the_nearer(fmt):
    magnitudes = witness_magnitudes(fmt)
    # A midpoint needs one bit more than the format and no smaller exponent than a float32 has, so the
    # witness's cast from float32 rounds once.
    midpoints = [(Fraction(a) + Fraction(b)) / 2 for a, b in pairwise(magnitudes)]
    narrow = np.array([float(x) for x in midpoints], np.float32)
    assert [Fraction(float(x)) for x in narrow] == midpoints
    witness = narrow.astype(witness_dtype(fmt)).view(unsigned(fmt)).tolist()
    assert [code % 2 for code in witness] == [0] * len(midpoints)
    for code, (midpoint, even) in enumerate(zip(midpoints, witness, strict=True)):
        assert encode(midpoint, fmt) == even
        assert encode(midpoint - TINY, fmt) == code
        assert encode(midpoint + TINY, fmt) == code + 1
        negated = -decode(even, fmt)
        assert round_to(-midpoint, fmt) == negated


@every_narrow_format
def test_random_fractions_round_to_the_nearest_of_all_values(fmt):
    magnitudes = witness_magnitudes(fmt)
    rng = random.Random(fmt.name)
    for _ in range(3000):
        scale = rng.randint(fmt.emin - fmt.precision - 2, fmt.emax - 1)
        value = (
            Fraction(rng.randint(1 << 60, 1 << 61), 3**38) * Fraction(2) ** scale
        )  # never a tie: 3 divides it
        above = bisect_left(magnitudes, value)
        if above == len(magnitudes):
            continue
        nearest = min((above - 1, above), key=lambda code: abs(value - Fraction(magnitudes[code])))
        assert encode(value, fmt) == nearest
        assert round_to(-value, fmt) == -magnitudes[nearest]


def test_a_double_beside_a_tie_is_rounded_once():
    just_above = 1 + 2.0**-8 + 2.0**-40  # through float32 this would become the tie, and 1
    assert round_to(just_above, FORMATS["bfloat16"]) == 1 + 2.0**-7
    assert round_to(1 + 2.0**-8, FORMATS["bfloat16"]) == 1.0


def test_float32_agrees_with_the_processor():
    rng = random.Random(32)
    edges = [0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x7F7FFFFF, 0x7F800000]
    for code in edges + [rng.getrandbits(31) for _ in range(10_000)]:
        value = float32_of(code)
        for signed, expected in ((code, value), (code | 1 << 31, -value)):
            assert decode(signed, FLOAT32) == expected or math.isnan(value)
            assert encode(expected, FLOAT32) == (FLOAT32.nan_code if math.isnan(value) else signed)
    assert math.isnan(decode(0x7F800001, FLOAT32))
    assert math.isnan(decode(0xFFFFFFFF, FLOAT32))

    # Doubles of every exponent in reach, each rounded once by the processor.
    doubles = [math.ldexp(rng.uniform(-2, 2), rng.randint(-153, 128)) for _ in range(10_000)]
    doubles += [float32_of(code) + float32_of(code + 1) for code in (0, 1, 0x7FFFFF, 0x800000, 0x3F800000)]
    with np.errstate(over="ignore"):
        expected_codes = np.array(doubles).astype(np.float32).view(np.uint32).tolist()
    assert [encode(x, FLOAT32) for x in doubles] == expected_codes


@every_format
def test_overflow_begins_half_a_step_beyond_the_largest(fmt):
    largest = Fraction(fmt.max_value)
    edge = largest + ulp(largest, fmt) / 2
    beyond = fmt.max_value if fmt.saturates else math.inf
    assert round_to(edge - TINY, fmt) == fmt.max_value
    # The tie itself overflows: the largest significand is odd, but for e4m3fn's, and that saturates.
    assert round_to(edge, fmt) == beyond
    assert round_to(-edge, fmt) == -beyond
    for huge in (Fraction(10) ** 400, math.inf):
        assert round_to(huge, fmt) == beyond
        assert round_to(-huge, fmt) == -beyond
    assert math.isnan(round_to(math.nan, fmt))


def test_float8_saturates_at_the_values_of_the_acceptance_cases():
    e4m3fn = FORMATS["float8_e4m3fn"]
    rounded = [round_to(Fraction(x), e4m3fn) for x in (447, 464, 465, 1000, -1000)]
    assert rounded == [448.0, 448.0, 448.0, 448.0, -448.0]


@every_format
def test_zero_keeps_its_sign_where_there_are_two(fmt):
    smallest = decode(1, fmt)
    assert encode(0.0, fmt) == encode(Fraction(0), fmt) == encode(Fraction(smallest) / 2, fmt) == 0
    negative = fmt.sign_bit if fmt.has_negative_zero else 0
    assert encode(-0.0, fmt) == encode(-Fraction(smallest) / 2, fmt) == negative


@every_format
def test_codes_outside_the_width_are_refused(fmt):
    for code in (-1, 1 << fmt.bits):
        with pytest.raises(ValueError, match=rf"{fmt.bits} bits of {fmt.name}"):
            decode(code, fmt)


def test_exponent_is_exact_beside_powers_of_two():
    for e in (-1000, -149, -1, 0, 1, 127, 1000):
        power = Fraction(2) ** e
        assert exponent(power) == exponent(-power) == exponent(power * 2 - TINY**4) == e
        assert exponent(power - TINY**4) == e - 1
    assert exponent(0.75) == -1
    with pytest.raises(ValueError, match="zero"):
        exponent(Fraction(0))


@every_narrow_format
def test_ulp_is_the_gap_above_every_magnitude(fmt):
    magnitudes = witness_magnitudes(fmt)
    for a, b in pairwise(magnitudes):
        assert ulp(a, fmt) == Fraction(b) - Fraction(a)
        assert ulp(-(Fraction(b) - TINY), fmt) == Fraction(b) - Fraction(a)


def test_ulp_of_float32():
    assert ulp(0.0, FLOAT32) == ulp(Fraction(1, 1 << 200), FLOAT32) == Fraction(1, 1 << 149)
    assert ulp(Fraction(1), FLOAT32) == Fraction(1, 1 << 23)
    assert ulp(Fraction(1) - TINY, FLOAT32) == Fraction(1, 1 << 24)
    assert ulp(FLOAT32.max_value, FLOAT32) == 1 << 104


@every_narrow_format
def test_ordinals_count_the_values(fmt):
    values = np.unique(witness_values(fmt))  # sorted; both zeros count as one, all NaNs as the last
    values = values[~np.isnan(values)]
    ordinals = [ordinal(x, fmt) for x in values.tolist()]
    zero = int(np.flatnonzero(values == 0)[0])
    assert ordinals == list(range(-zero, len(values) - zero))


@every_format
def test_steps_between_values(fmt):
    smallest = decode(1, fmt)
    assert steps(-0.0, 0.0, fmt) == 0
    assert steps(-smallest, smallest, fmt) == steps(smallest, -smallest, fmt) == 2
    assert steps(1.0, 2.0, fmt) == 1 << (fmt.precision - 1)
    if fmt.has_inf:
        assert steps(fmt.max_value, math.inf, fmt) == 1
        assert steps(-math.inf, math.inf, fmt) == 2 * (fmt.max_code + 1)
    else:
        with pytest.raises(ValueError, match="inf is not a number"):
            ordinal(math.inf, fmt)


@every_format
def test_what_a_format_cannot_hold_has_no_ordinal(fmt):
    for value in (math.nan, 1 + 2.0**-40, fmt.max_value * 2, 2.0**-1000):
        with pytest.raises(ValueError, match=f"{fmt.name} can hold"):
            ordinal(value, fmt)
