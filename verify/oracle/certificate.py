"""Enclosures of single values that another program can check again from the bits of the inputs alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verify.oracle.dyadic import to_units
from verify.oracle.exact import Row
from verify.oracle.situations import is_broken, is_empty
from verify.oracle.target import Base, Enclosure, TargetFormat


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """A claim about y = Σ o·base^m / Σ s·base^m, or about log Σ s·base^m, over the live segments of a row."""

    m: tuple[str, ...]
    """The live segments' maxima as C hexadecimal floats."""
    s: tuple[str, ...]
    """Their masses."""
    o: tuple[str, ...] | None
    """Their partials, or None where the claim is about the lse."""
    enclosure: Enclosure | None
    """Where the value lies; None claims that it is exactly 0."""
    base: Base = Base.TWO
    """The base of the weights."""
    lse_base: Base = Base.E
    """The base of the logarithm."""

    def __str__(self) -> str:
        """Return the claim as one line of text."""
        if self.enclosure is None:
            return "exactly 0"
        e = self.enclosure
        return f"in [{e.lo}, {e.hi}] · 2^{e.exponent}, proved with {e.bits} bits{_decimal(e)}"


def _decimal(e: Enclosure) -> str:
    """Return the ends in decimal where a double can show them."""
    if abs(e.exponent) > 1000:
        return ""
    lo, hi = (float(end * Fraction(2) ** e.exponent) for end in (e.lo, e.hi))
    return f" ≈ {lo!r}" if lo == hi else f" ≈ [{lo!r}, {hi!r}]"


def certify(
    m: Sequence[float],
    s: Sequence[float],
    o: Sequence[float] | None,
    fmt: TargetFormat,
    *,
    bits: int = 128,
    base: Base = Base.TWO,
    lse_base: Base = Base.E,
) -> Certificate:
    """Return an enclosure of one finite output (or, without o, of the lse) of a row's active segments.

    The weights are `base`^m, the lse is to `lse_base`. An output is enclosed to about 2^-40 ulp of the
    format, an lse to a relative 2^(8 − bits). Raises ValueError where the contract's special situations, not
    arithmetic, decide the value.
    """
    base, lse_base = Base(base), Base(lse_base)  # a value that is no base must not be taken for one
    live = [i for i in range(len(m)) if not is_empty(m[i], s[i])]
    if not live:
        raise ValueError("the row has no live segment: the output is 0 and the lse −inf")
    if any(is_broken(m[i], s[i]) for i in live):
        raise ValueError("the statistics of a live segment make the whole row NaN")
    if o is not None and not all(math.isfinite(o[i]) for i in live):
        raise ValueError("a live segment's partial is not finite: the output is an infinity or NaN")
    row = Row([m[i] for i in live], [s[i] for i in live], base)
    if o is None:
        enclosure = row.enclose_lse(bits, lse_base)
    else:
        enclosure = row.enclose_output([to_units(o[i]) for i in live], fmt, exact=True)
    return Certificate(
        m=tuple(float(m[i]).hex() for i in live),
        s=tuple(float(s[i]).hex() for i in live),
        o=None if o is None else tuple(float(o[i]).hex() for i in live),
        enclosure=enclosure,
        base=base,
        lse_base=lse_base,
    )
