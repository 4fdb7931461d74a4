"""Enclose Σ c·e^m for integers c and dyadic rationals m, or prove that it is exactly zero.

The counterpart of `dyadic` for powers of e, in the same units of 2^-149. The theory is in the README of this
package.
"""

from collections.abc import Iterable
from functools import lru_cache

from mpmath.libmp import from_man_exp, mpf_exp, mpf_ln2, mpf_shift, round_nearest, to_int

from verify.oracle.dyadic import GUARD, UNIT, refine
from verify.oracle.target import Base, Enclosure

_LARGEST = 129
"""An exponent m is below 2^128, so the whole part of m/ln 2 is below 2^_LARGEST."""


@lru_cache(maxsize=1 << 14)
def power(exponent: int, bits: int) -> tuple[int, int]:
    """Return (p, n) with e^(exponent·2^-149) = p·2^(n − bits), p within 1.01 and in [2^bits, 2^(bits+1)].

    n takes the multiples of ln 2 out of the exponent. They are known to 2^-fine each, all of them to
    2^(_LARGEST − fine), which is far below the guard bits.
    """
    working = bits + GUARD
    fine = working + _LARGEST + 8
    n, rest = divmod(exponent << (fine - UNIT), _ln2(fine))
    p = mpf_exp(from_man_exp(rest, -fine), working, round_nearest)
    return int(to_int(mpf_shift(p, bits))), n


@lru_cache(maxsize=64)
def _ln2(bits: int) -> int:
    """Return ln 2·2^bits within 1."""
    return int(to_int(mpf_shift(mpf_ln2(bits, round_nearest), bits)))


def enclose(terms: Iterable[tuple[int, int]], bits: int) -> Enclosure | None:
    """Enclose Σ c·e^(m·2^-149) over (c, m) to a relative width below 2^-bits; None if it is zero.

    Raises PrecisionError beyond the cap of bits. The sum is zero exactly if the coefficients of every m add
    up to zero, since powers of e with different algebraic exponents are linearly independent over the
    algebraic numbers (Lindemann–Weierstrass); otherwise doubling the working precision must end.
    """
    terms = list(terms)
    classes: dict[int, int] = {}
    for c, m in terms:
        classes[m] = classes.get(m, 0) + c

    def sums(working: int) -> list[tuple[int, int, int]]:
        return [(c, *power(m, working)) for m, c in classes.items() if c]

    return refine(sums, len(classes), bits, Base.E, terms)
