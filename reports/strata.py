"""What was measured in one stratum: all values of one family, domain, dtype and result.

Every field merges exactly (maxima, integer counts, a sum), so that a campaign may be judged in any
number of pieces. Quantiles are read from the histogram and rounded up to the edge of their bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

# 64 bins a ulp up to the limit of a correct rounding, where nearly all values lie, then ever wider ones.
EDGES: tuple[float, ...] = (
    *(i / 64 for i in range(33)),
    *(0.501, 0.51, 0.55, 0.6, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9),
    math.inf,
)


class StratumKey(NamedTuple):
    """What the values of a stratum have in common."""

    family: str
    domain: str
    dtype: str
    result: str


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """The errors of one stratum, in ulp of the target format at the exact value."""

    key: StratumKey
    cases: int = 0
    """Cases that contributed."""
    outputs: int = 0
    """Values judged, NaNs and infinities included."""
    failed: int = 0
    """Values outside their bound or of the wrong kind."""
    numbers: int = 0
    """Values with a measurable error, the population of the histogram."""
    misrounded: int = 0
    """Numbers that differ from the correctly rounded value."""
    max_ulp: float = 0.0
    """Largest |error|, in ulp."""
    judged_ulp: float = 0.0
    """Largest max(0, |error| - second term of the bound), in ulp."""
    margin: float = 0.0
    """Largest |error| / bound."""
    bound: float = 0.0
    """Largest bound on |error| that any of the values was granted, in ulp."""
    witness: str = ""
    """The case that reached `margin`, as verify.replay takes it, with the position inside it."""
    sum_ulp: float = 0.0
    """Sum of the signed errors, in ulp."""
    counts: tuple[int, ...] = (0,) * (len(EDGES) - 1)
    """Histogram of |error| over `EDGES`; a bin holds its lower edge."""

    def merged(self, other: Stratum) -> Stratum:
        """Return the stratum of both populations together."""
        if self.key != other.key:
            raise ValueError(f"cannot merge stratum {other.key} into {self.key}")
        return replace(
            self,
            cases=self.cases + other.cases,
            outputs=self.outputs + other.outputs,
            failed=self.failed + other.failed,
            numbers=self.numbers + other.numbers,
            misrounded=self.misrounded + other.misrounded,
            max_ulp=max(self.max_ulp, other.max_ulp),
            judged_ulp=max(self.judged_ulp, other.judged_ulp),
            margin=max(self.margin, other.margin),
            bound=max(self.bound, other.bound),
            witness=other.witness if other.margin > self.margin or not self.witness else self.witness,
            sum_ulp=self.sum_ulp + other.sum_ulp,
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
        )

    def quantile(self, share: float) -> float:
        """Return the upper edge of the bin that holds the given share of the numbers, in ulp."""
        wanted = share * self.numbers
        seen = 0
        for count, upper in zip(self.counts, EDGES[1:], strict=True):
            seen += count
            if seen >= wanted:
                return min(upper, self.max_ulp)
        return self.max_ulp

    @property
    def mean_signed_ulp(self) -> float:
        """Mean signed error, in ulp: a bias of the rounding shows here."""
        return self.sum_ulp / self.numbers if self.numbers else 0.0

    @property
    def misrounded_fraction(self) -> float:
        """Share of the numbers that are not the correctly rounded value."""
        return self.misrounded / self.numbers if self.numbers else 0.0
