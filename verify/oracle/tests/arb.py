"""A witness of another code base: Arb balls, computed from the bits of the inputs alone."""

from collections.abc import Callable
from fractions import Fraction
from math import floor

from flint import arb, ctx, fmpq

from verify.oracle.target import Base, Kind, Value
from verify.oracle.tests.seven import Plain

PRECISIONS = (200, 800, 3200)

Ball = Callable[[], arb]
"""Computes the value at the current precision."""
Exactly = Callable[[Fraction], bool]
"""Tells whether the value is exactly this."""


def power(m: float, base: Base = Base.TWO) -> arb:
    """Return a ball around base^m at the current precision."""
    if base is Base.E:
        return arb(m).exp()
    whole = floor(m)
    return ((arb(m) - whole) * arb.const_log2()).exp() * arb(2) ** whole


def weighted(values: list[float], m: list[float], base: Base = Base.TWO) -> arb:
    """Return a ball around Σ v·base^m."""
    return sum((arb(v) * power(x, base) for v, x in zip(values, m, strict=True)), arb(0))


def rational(x: Fraction) -> arb:
    """Return a ball around a rational."""
    return arb(fmpq(x.numerator, x.denominator))


def logarithm(x: arb, base: Base) -> arb:
    """Return a ball around log x."""
    return x.log() if base is Base.E else x.log() / arb.const_log2()


def vanishes(values: list[Fraction], m: list[float | Fraction], base: Base = Base.TWO) -> bool:
    """Tell whether Σ v·base^m is exactly zero, class by class, in fractions (moderate maxima only)."""
    if base is Base.E:
        alike: dict[Fraction, Fraction] = {}
        for v, x in zip(values, m, strict=True):
            alike[Fraction(x)] = alike.get(Fraction(x), Fraction(0)) + v
        return not any(alike.values())
    sums: dict[Fraction, Fraction] = {}
    for v, x in zip(values, m, strict=True):
        whole = floor(x)
        fraction = Fraction(x) - whole
        sums[fraction] = sums.get(fraction, Fraction(0)) + v * Fraction(2) ** whole
    return not any(sums.values())


class Witness:
    """What Arb says of the claims about rows; `doubts` counts what no ball can decide."""

    def __init__(self, base: Base = Base.TWO, lse_base: Base = Base.E) -> None:
        self.base, self.lse_base = base, lse_base
        self.checks = 0
        self.doubts = 0

    def output(self, value: Value, o: list[float], s: list[float], m: list[float], fmt: Plain) -> str | None:
        """Return what is wrong with a claim about y = Σ o·base^m / Σ s·base^m, or None."""

        def ball() -> arb:
            return weighted(o, m, self.base) / weighted(s, m, self.base)

        def exactly(c: Fraction) -> bool:
            terms = [Fraction(a) - c * Fraction(b) for a, b in zip(o, s, strict=True)]
            return vanishes(terms, [*m], self.base)

        return self._claim(value, ball, exactly, fmt)

    def lse(self, value: Value, s: list[float], m: list[float], fmt: Plain) -> str | None:
        """Return what is wrong with a claim about log Σ s·base^m, or None."""

        def exactly(c: Fraction) -> bool:
            masses = list(map(Fraction, s))
            if c == 0 or self.base is self.lse_base:
                return vanishes([*masses, Fraction(-1)], [*m, c], self.base)
            if self.base is Base.TWO:
                return False
            return not any(m) and c.denominator == 1 and sum(masses) == Fraction(2) ** int(c)

        return self._claim(value, lambda: logarithm(weighted(s, m, self.base), self.lse_base), exactly, fmt)

    def _claim(self, value: Value, ball: Ball, exactly: Exactly, fmt: Plain) -> str | None:
        self.checks += 1
        finite = abs(value.rounded) <= fmt.max_value
        if value.kind is not Kind.NUMBER or (fmt.saturates and not finite):
            return "kind"
        least = Fraction(2) ** (fmt.emin - fmt.precision + 1)
        ulp = Fraction(2) ** (value.exponent - fmt.precision + 1)
        limit = Fraction(2) ** (fmt.emax + 1)
        rounded = Fraction(value.rounded) if finite else limit * (1 if value.rounded > 0 else -1)
        if (rounded / max(least, ulp / 2)).denominator != 1:  # ulp/2: rounded down to the binade's lower end
            return "not representable"
        sign = -1 if rounded < 0 or (rounded == 0 and value.residual < 0) else 1
        claimed, tolerance = rounded + Fraction(value.residual) * ulp, ulp / 4096
        even = (rounded / ulp) % 2 == 0
        # clamped: on the outer side nothing is claimed
        clamped = abs(rounded) == (Fraction(fmt.max_value) if fmt.saturates else limit) and (
            value.residual == 0 and (fmt.saturates or value.exponent > fmt.emax)
        )
        inner = [("rounding", rounded - sign * ulp / 2, even), ("residual", claimed - sign * tolerance, True)]
        outer = [("rounding", rounded + sign * ulp / 2, even), ("residual", claimed + sign * tolerance, True)]
        if value.exponent > fmt.emin:
            inner.append(("binade", sign * Fraction(2) ** value.exponent, True))
        outer.append(("binade", sign * Fraction(2) ** (value.exponent + 1), False))
        claims = [(*claim, sign) for claim in inner] + [(*claim, -sign) for claim in outer if not clamped]
        for name, boundary, equal, side in claims:
            if not self._holds(ball, boundary, side, equal, exactly):
                return f"{name}: not {'above' if side > 0 else 'below'} {float(boundary)!r}"
        return None

    def _holds(self, ball: Ball, boundary: Fraction, side: int, equal: bool, exactly: Exactly) -> bool:
        previous = ctx.prec
        try:
            for precision in PRECISIONS:
                ctx.prec = precision
                distance = (ball() - rational(boundary)) * side
                if distance > 0:
                    return True
                if distance < 0:
                    return False
        finally:
            ctx.prec = previous
        self.doubts += 1
        return equal and exactly(boundary)
