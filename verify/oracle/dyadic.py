"""Enclose Σ c·2^m for integers c and dyadic rationals m, or prove that it is exactly zero.

Exponents m are integers in units of 2^-149, so every float32 is one. Working precision is an argument
everywhere; this module and `natural`, its counterpart for powers of e, are the only ones that ask mpmath for
anything. The theory is in the README of this package.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

from mpmath.libmp import (
    from_man_exp,
    mpf_div,
    mpf_exp,
    mpf_ln2,
    mpf_log,
    mpf_mul,
    mpf_shift,
    round_nearest,
    to_int,
)

from verify.oracle.target import Base, Enclosure

UNIT = 149
"""Every float32 is an integer times 2^-UNIT."""

CAP = 1 << 21
"""Working bits beyond which an answer is refused (never guessed)."""

_FRACTION = (1 << UNIT) - 1
_TABLED = 512  # bits up to which powers are put together from a table; a table of longer ones would be huge
GUARD = 40  # mpmath rounds to nearest; its own error, a few units of the last guard bit, is paid here


class PrecisionError(ArithmeticError):
    """More than CAP bits would be needed; the message holds the terms."""


def to_units(x: float) -> int:
    """Return the finite float32 x as an exact integer in units of 2^-149."""
    return int(x * 2.0**UNIT)  # exact: below 2^277, and a double holds the product of a float32 and a power


@lru_cache(maxsize=1 << 14)
def power(exponent: int, bits: int) -> int:
    """Return 2^f·2^bits within 1.01, f being the fractional part of exponent·2^-149.

    At the precisions that rows ask for, f is taken a byte at a time: 2^f is a product of at most 19 powers
    that mpmath made once. Each is off by at most 1 in units of 2^-working, each product loses less than 3,
    so that all of it stays far below the guard bits.
    """
    f = exponent & _FRACTION
    if bits > _TABLED:
        return _scaled_power(f, bits)
    working = bits + GUARD
    product = 1 << working
    for low in range(UNIT - 8, -8, -8):
        digit = (f >> low if low > 0 else f << -low) & 255
        if digit:
            product = product * _byte_power(digit, low, working) >> working
    return product >> GUARD


@lru_cache(maxsize=1 << 16)
def _byte_power(digit: int, low: int, working: int) -> int:
    """Return 2^(digit·2^low·2^-149)·2^working within 1."""
    return _scaled_power(digit << low if low > 0 else digit >> -low, working)


def _scaled_power(f: int, bits: int) -> int:
    """Return 2^(f·2^-149)·2^bits within 1, by mpmath."""
    working = bits + GUARD
    natural = mpf_mul(from_man_exp(f, -UNIT), mpf_ln2(working, round_nearest), working, round_nearest)
    return int(to_int(mpf_shift(mpf_exp(natural, working, round_nearest), bits)))


def _same_fraction(terms: list[tuple[int, int]], bits: int) -> tuple[int, int]:
    """Sum c·2^k over (k, c), as (a, e): a·2^e with relative error below 2^-bits; a = 0 is exact.

    From the largest k down. What is still to come is below total·2^k: once that cannot reach the last
    wanted bit of the sum so far, it is left out, so gaps of 3e38 cost nothing.
    """
    total_bits = sum(abs(c) for _, c in terms).bit_length()
    a, e = 0, 0
    for k, c in sorted(terms, reverse=True):
        if a == 0:
            a, e = c, k
        elif e - k + a.bit_length() - 1 - total_bits > bits:
            break
        else:
            a, e = (a << (e - k)) + c, k
    return a, e


def enclose(terms: Iterable[tuple[int, int]], bits: int) -> Enclosure | None:
    """Enclose Σ c·2^(m·2^-149) over (c, m) to a relative width below 2^-bits; None if it is zero.

    Raises PrecisionError beyond CAP bits. The sum is zero exactly if it is zero within every class of
    equal fractional part of m, since those powers of two are linearly independent over the rationals;
    otherwise doubling the working precision must end.
    """
    terms = list(terms)
    classes: dict[int, list[tuple[int, int]]] = {}
    for c, m in terms:
        classes.setdefault(m & _FRACTION, []).append((m >> UNIT, c))

    def sums(working: int) -> list[tuple[int, int, int]]:
        found = [(f, *_same_fraction(members, working + 2)) for f, members in classes.items()]
        return [(a, power(f, working), e) for f, a, e in found if a]

    return refine(sums, len(classes), bits, Base.TWO, terms)


def refine(
    sums: Callable[[int], list[tuple[int, int, int]]],
    count: int,
    bits: int,
    base: Base,
    terms: list[tuple[int, int]],
) -> Enclosure | None:
    """Enclose Σ a·p·2^(e − w) over (a, p, e) in sums(w), doubling w; None if there is nothing to add.

    p is within 1.01 of a power in [2^w, 2^(w+1)], a is known to a relative 2^-(w+2), and there are at most
    `count` of them. `base` and `terms` are named where more than CAP bits are wanted.
    """
    working = bits + 16 + count.bit_length()
    while working <= CAP:
        found = sums(working)
        if not found:
            return None
        top = max(e + a.bit_length() for a, _, e in found)
        # In units of 2^(top − working) a term is below 2^(working + 1), so it is off by at most
        # 1/2 (its own sum) + 1.01 (the power) + 1 (the shift): below 4.
        centre = sum((a * p) >> (top - e) for a, p, e in found)
        error = 4 * len(found)
        if (abs(centre) - error) >> bits > 2 * error:
            return Enclosure(lo=centre - error, hi=centre + error, exponent=top - working, bits=working)
        working *= 2
    raise PrecisionError(
        f"more than {CAP} bits wanted for the sum of c·{base.value}^(m·2^-149) over (c, m) in {terms}"
    )


def sign(terms: Iterable[tuple[int, int]]) -> int:
    """Return the exact sign of Σ c·2^(m·2^-149): −1, 0 or 1."""
    enclosure = enclose(terms, 1)
    if enclosure is None:
        return 0
    return 1 if enclosure.lo > 0 else -1


def logarithm(mass: Enclosure, offset: int, bits: int, base: Base = Base.E) -> Enclosure:
    """Enclose the logarithm of offset + x for x in `mass`, with offset 0 or 1.

    The relative width is about 2^(8 − bits), that of `mass` below 2^-bits. With offset 0, x is positive and
    outside of (0.6, 1.9); with offset 1, 1 + x is in (0.4, 4). Either way the error of x costs less than
    2^(3 − bits), relatively.
    """
    x = from_man_exp((mass.lo + mass.hi) >> 1, mass.exponent)
    working = 2 * bits + GUARD
    if offset:
        magnitude = max(abs(mass.lo), abs(mass.hi)).bit_length() + mass.exponent
        if magnitude >= -bits:  # else ln(1 + x) = x·(1 + θ) with |θ| ≤ |x| ≤ 2^-bits
            one_plus_x = from_man_exp((1 << -mass.exponent) + ((mass.lo + mass.hi) >> 1), mass.exponent)
            x = mpf_log(one_plus_x, working, round_nearest)
    else:
        x = mpf_log(x, working, round_nearest)
    if base is Base.TWO:
        x = mpf_div(x, mpf_ln2(working, round_nearest), working, round_nearest)
    negative, mantissa, exponent, size = (int(part) for part in x)
    drop = size - bits
    mantissa = mantissa >> drop if drop > 0 else mantissa << -drop
    lo, hi = mantissa - 64, mantissa + 64
    return Enclosure(
        lo=-hi if negative else lo, hi=-lo if negative else hi, exponent=exponent + drop, bits=working
    )
