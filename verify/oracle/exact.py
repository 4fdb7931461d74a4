"""The plain oracle: one row of the merge, exactly, by integers and mpmath alone.

Meant to be checked by eye. A value is enclosed between integers in a fine unit; if the enclosure holds a
boundary of rounding (a multiple of half an ulp, so a power of two as well), an exact comparison says on
which side of it, or on it, the value lies. Nothing is ever guessed.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import mul

from verify.oracle import dyadic, natural
from verify.oracle.dyadic import CAP, UNIT, PrecisionError, logarithm, to_units
from verify.oracle.target import Base, Enclosure, Kind, TargetFormat, Value

BITS = 192
"""Relative precision of a denominator, at least: hoisted weights get as many bits more as the masses span."""

_FINE = 40  # bits of an enclosure below the ulp
_ONE = Enclosure(lo=1, hi=1, exponent=0, bits=1)
_FIRST = 128  # relative bits of the exact path; rounding needs precision + _FINE of them


def zero(fmt: TargetFormat) -> Value:
    """Return the record of an exact zero."""
    return Value(kind=Kind.NUMBER, rounded=0.0, residual=0.0, exponent=fmt.emin)


def round_point(negative: bool, x: int, unit: int, fmt: TargetFormat) -> Value:
    """Round x·2^unit > 0 to nearest, ties to even, with the format's overflow; give it the sign."""
    exponent = max(x.bit_length() - 1 + unit, fmt.emin)
    ulp_bits = exponent - fmt.precision + 1 - unit
    n, rest, half = x >> ulp_bits, x & ((1 << ulp_bits) - 1), 1 << (ulp_bits - 1)
    n += rest > half or (rest == half and n & 1)
    rounded = math.ldexp(n, exponent - fmt.precision + 1)
    residual = (x - (n << ulp_bits)) / (1 << ulp_bits)
    if fmt.saturates and rounded >= fmt.max_value:
        beyond = rounded > fmt.max_value or residual > 0  # |exact| is clamped to the largest value
        residual = 0.0 if beyond else residual
        rounded, exponent = fmt.max_value, fmt.emax
    elif rounded > fmt.max_value:
        # |exact| is clamped to 2^(emax + 1), which is also what infinity stands for, and n·ulp below it
        residual = 0.0 if exponent > fmt.emax else residual
        rounded, exponent = math.inf, min(exponent, fmt.emax + 1)
    if negative:
        rounded, residual = -rounded, -residual
    return Value(kind=Kind.NUMBER, rounded=rounded, residual=residual, exponent=exponent)


def quotient(num: Enclosure, den: Enclosure, fmt: TargetFormat, fine: int = _FINE) -> Enclosure:
    """Enclose num/den, num not 0 and den positive, in units of about 2^-fine ulp of the format there."""
    if num.hi < 0:
        mirror = quotient(
            Enclosure(lo=-num.hi, hi=-num.lo, exponent=num.exponent, bits=num.bits), den, fmt, fine
        )
        return Enclosure(lo=-mirror.hi, hi=-mirror.lo, exponent=mirror.exponent, bits=mirror.bits)
    shift = num.exponent - den.exponent
    exponent = num.lo.bit_length() - den.hi.bit_length() - 1 + shift  # 2^exponent is at most the quotient
    unit = max(exponent, fmt.emin) - fmt.precision + 1 - fine
    up, down = max(shift - unit, 0), max(unit - shift, 0)
    lo = ((num.lo << up) >> down) // den.hi
    hi = -(((-num.hi << up) >> down) // den.lo)
    return Enclosure(lo=lo, hi=hi, exponent=unit, bits=max(num.bits, den.bits))


def settle(found: Enclosure, fmt: TargetFormat, side: Callable[[int], int | None]) -> Value | None:
    """Return the record of the enclosed value; None if the enclosure is too wide to tell.

    `side(edge)` is the exact sign of (value − edge·2^exponent), or None if that is not known.
    """
    negative, unit = found.lo < 0 or found.hi < 0, found.exponent
    lo, hi = (-found.hi, -found.lo) if negative else (found.lo, found.hi)
    half = 1 << (max(lo.bit_length() - 1 + unit, fmt.emin) - fmt.precision - unit)
    if hi - lo >= half >> 13:
        return None
    edge = -(-lo // half) * half  # the only multiple of half an ulp that [lo, hi] can hold
    point = (lo + hi) >> 1  # strictly between two multiples of half an ulp, if the edge is out of reach
    if edge <= hi:
        where = side(-edge if negative else edge)
        if where is None:
            return None
        outward = -where if negative else where
        point = edge if outward == 0 else (edge + hi + 1) >> 1 if outward > 0 else (lo + edge - 1) >> 1
    # it rounds as the value does, and lies in its binade
    return round_point(negative, point, unit, fmt)


class Row:
    """The live segments of one row, all m and s finite, s > 0, with everything that columns share."""

    def __init__(self, m: Sequence[float], s: Sequence[float], base: Base = Base.TWO) -> None:
        self.base = base
        self.m = [to_units(x) for x in m]
        self.s = [to_units(x) for x in s]
        heaviest = self.s[self.m.index(max(self.m))]
        spread = sum(self.s).bit_length() - heaviest.bit_length()
        self.precision = BITS - spread // -64 * 64  # in steps, so that powers are found in the cache
        powers = [self._power(x) for x in self.m]
        self.top = max(exponent for _, exponent in powers)
        # base^m·2^(precision − top): off by at most 1.01 before the shift and 1 by it, so by less than 2
        self.weights = [p >> (self.top - exponent) for p, exponent in powers]
        den, error = sum(map(mul, self.s, self.weights)), 2 * sum(self.s)
        self.den = Enclosure(lo=den - error, hi=den + error, exponent=0, bits=self.precision)
        self.bits = self.precision

    @cached_property
    def den_anywhere(self) -> Enclosure:
        """The denominator with its own exponent, to _FIRST bits."""
        den = self._enclose(list(zip(self.s, self.m, strict=True)), _FIRST)
        assert den is not None, "every s is positive"
        return den

    def _power(self, m: int) -> tuple[int, int]:
        """Return (p, n): base^m is p·2^(n − precision), p within 1.01."""
        if self.base is Base.E:
            return natural.power(m, self.precision)
        return dyadic.power(m, self.precision), m >> UNIT

    def _enclose(self, terms: list[tuple[int, int]], bits: int) -> Enclosure | None:
        """Enclose Σ c·base^m over (c, m) to a relative width below 2^-bits; None if it is exactly zero."""
        enclosure = natural.enclose(terms, bits) if self.base is Base.E else dyadic.enclose(terms, bits)
        self.bits = max(self.bits, enclosure.bits if enclosure else 0)
        return enclosure

    def enclose_output(self, column: Sequence[int], fmt: TargetFormat, exact: bool) -> Enclosure | None:
        """Enclose y of one column of o (units of 2^-149); None: y is 0, or (not exact) may be."""
        if exact:
            num = self._enclose(list(zip(column, self.m, strict=True)), _FIRST)
            return quotient(num, self.den_anywhere, fmt) if num else None
        centre, error = sum(map(mul, column, self.weights)), 2 * sum(map(abs, column))
        if abs(centre) <= error:
            return None
        num = Enclosure(lo=centre - error, hi=centre + error, exponent=0, bits=self.precision)
        return quotient(num, self.den, fmt)

    def output(self, column: Sequence[int], fmt: TargetFormat) -> Value:
        """Return y = Σ o·base^m / Σ s·base^m for one column of o, given in units of 2^-149."""
        for exact in (False, True):
            found = self.enclose_output(column, fmt, exact)
            if found is None and exact:
                return zero(fmt)
            value = settle(found, fmt, partial(self._side, column, found.exponent)) if found else None
            if value is not None:
                return value
        raise PrecisionError(f"{_FIRST} relative bits did not settle m {self.m}, s {self.s}, o {column}")

    def _side(self, column: Sequence[int], unit: int, edge: int) -> int:
        """Return the sign of y − edge·2^unit, which is that of Σ (o − edge·2^unit·s)·base^m."""
        up, down = max(unit, 0), max(-unit, 0)
        scaled = [(o << down) - (edge << up) * s for o, s in zip(column, self.s, strict=True)]
        difference = self._enclose(list(zip(scaled, self.m, strict=True)), 1)
        return 0 if difference is None else 1 if difference.lo > 0 else -1

    def _enclose_mass(self, bits: int, less: list[tuple[int, int]]) -> Enclosure | None:
        """Enclose Σ s·base^m − Σ less to a relative width below 2^-bits; None if it is exactly zero.

        `less` is as `_power_of` gives it.
        """
        if self.base is Base.TWO:  # the unit 2^-149 of s goes into the exponents
            mass = [(s, m - (UNIT << UNIT)) for s, m in zip(self.s, self.m, strict=True)]
        else:
            mass = list(zip(self.s, self.m, strict=True))
        found = self._enclose([*mass, *((-c, m) for c, m in less)], bits)
        if found is None or self.base is Base.TWO:
            return found
        return Enclosure(lo=found.lo, hi=found.hi, exponent=found.exponent - UNIT, bits=found.bits)

    def _power_of(self, lse_base: Base, edge: int, unit: int) -> list[tuple[int, int]] | None:
        """Return lse_base^(edge·2^unit) as terms c·base^m beside the mass; None if the mass cannot equal it.

        Why it cannot stands in the README of this package.
        """
        one = 1 if self.base is Base.TWO else 1 << UNIT
        if edge == 0:
            return [(one, 0)]
        if self.base is Base.TWO and lse_base is Base.E:
            return None
        up, down = max(unit + UNIT, 0), max(-unit - UNIT, 0)
        exponent, rest = divmod(edge << up, 1 << down)
        if rest:
            return None  # finer than any m
        if self.base is lse_base:
            return [(one, exponent)]
        whole, rest = divmod(exponent, 1 << UNIT)
        return [(1 << (UNIT + whole), 0)] if not rest and -UNIT <= whole <= 2 * UNIT else None

    def enclose_lse(self, bits: int, lse_base: Base = Base.E) -> Enclosure | None:
        """Enclose the logarithm of Σ s·base^m to a relative width of about 2^(8 − bits); None if it is 0."""
        exponent = self.den.hi.bit_length() + self.top - self.precision - UNIT
        near_one = 0 <= exponent <= 1  # then den is in (0.49, 2), else outside of (0.51, 1.99)
        # through den − 1, so that nothing is lost where den is nearly 1
        less = self._power_of(lse_base, 0, 0) if near_one else []
        assert less is not None, "the power 0 of any base is 1"
        enclosure = self._enclose_mass(bits, less)
        if enclosure is None:
            return None
        found = logarithm(enclosure, int(near_one), bits, lse_base)
        self.bits = max(self.bits, found.bits)
        return found

    def lse(self, fmt: TargetFormat, lse_base: Base = Base.E) -> Value:
        """Return log den; in most pairs of bases it is never a tie, and where it may be, that is decided."""
        bits = _FIRST
        while bits <= CAP:
            found = self.enclose_lse(bits, lse_base)
            if found is None:
                return zero(fmt)
            fine = quotient(found, _ONE, fmt, bits)
            sign = 1 if found.lo > 0 else -1
            value = settle(fine, fmt, partial(self._side_of_lse, lse_base, sign, fine.exponent))
            if value is not None:
                return value
            bits *= 2
        raise PrecisionError(f"more than {CAP} bits wanted for the lse of m {self.m}, s {self.s}")

    def _side_of_lse(self, lse_base: Base, sign: int, unit: int, edge: int) -> int | None:
        """Return the sign of log den − edge·2^unit; None where they differ, as more bits will show.

        `sign` is that of log den.
        """
        if edge == 0:
            return sign
        less = self._power_of(lse_base, edge, unit)
        if less is None:
            return None
        difference = self._enclose_mass(1, less)
        return 0 if difference is None else 1 if difference.lo > 0 else -1
