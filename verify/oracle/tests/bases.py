"""The pairs of bases that the tests go through, and their powers by mpmath."""

from typing import NamedTuple

import mpmath

from verify.oracle.target import Base


class Bases(NamedTuple):
    """The base of the weights and that of the lse."""

    base: Base = Base.TWO
    lse_base: Base = Base.E

    def weight(self, m: float) -> mpmath.mpf:
        """Return base^m at mpmath's precision."""
        return mpmath.mpf(2) ** m if self.base is Base.TWO else mpmath.exp(m)

    def mass(self, lse: mpmath.mpf) -> mpmath.mpf:
        """Return the mass that has this lse."""
        return mpmath.mpf(2) ** lse if self.lse_base is Base.TWO else mpmath.exp(lse)

    def of_mass(self, mass: mpmath.mpf) -> mpmath.mpf:
        """Return the m whose weight is this mass."""
        return mpmath.log(mass) if self.base is Base.E else mpmath.log(mass, 2)


ORDINARY = Bases()
PAIRS = [Bases(base, lse_base) for base in Base for lse_base in Base]
OTHERS = [pair for pair in PAIRS if pair != ORDINARY]
