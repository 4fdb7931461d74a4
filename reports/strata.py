"""What was measured in one stratum: all values of one family, domain, dtype and result.

Every field merges exactly and in any order (maxima, integer counts, an integer sum, the witness of a
total order), so that a campaign may be judged in any number of pieces. Quantiles are read from the
histogram and rounded up to the edge of their bin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

# 64 bins a ulp up to the limit of a correct rounding, where nearly all values lie, then ever wider ones.
EDGES: tuple[float, ...] = (
    *(i / 64 for i in range(33)),
    *(0.501, 0.51, 0.55, 0.6, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9),
    math.inf,
)

UNIT_LOG2 = -32
"""Signed errors are summed as integers, in units of 2^-32 ulp: a sum of floats depends on their order."""


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
    """The first case that reached `margin`, as verify.replay takes it, with the position inside it."""
    sum_units: int = 0
    """Sum of the signed errors, each rounded to units of 2^-32 ulp."""
    counts: tuple[int, ...] = (0,) * (len(EDGES) - 1)
    """Histogram of |error| over `EDGES`; a bin holds its lower edge."""

    @staticmethod
    def in_units(ulp: float) -> int:
        """Return a finite error in units of 2^-32 ulp, to nearest, ties to even; ValueError for no number."""
        if not math.isfinite(ulp):
            raise ValueError(f"an error of {ulp} ulp cannot be summed")
        return round(Fraction(ulp) * (1 << -UNIT_LOG2))

    def merged(self, other: Stratum) -> Stratum:
        """Return the stratum of both populations together; ValueError for another key."""
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
            witness=min(self, other, key=_rank_of_witness).witness,
            sum_units=self.sum_units + other.sum_units,
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
        return self.sum_units / (self.numbers << -UNIT_LOG2) if self.numbers else 0.0

    @property
    def misrounded_fraction(self) -> float:
        """Share of the numbers that are not the correctly rounded value."""
        return self.misrounded / self.numbers if self.numbers else 0.0


def pooled(
    strata: Iterable[Stratum], key_of: Callable[[StratumKey], StratumKey]
) -> dict[StratumKey, Stratum]:
    """Merge strata that have one key under `key_of`, in the order in which those keys first come."""
    whole: dict[StratumKey, Stratum] = {}
    for stratum in strata:
        part = replace(stratum, key=key_of(stratum.key))
        whole[part.key] = whole[part.key].merged(part) if part.key in whole else part
    return whole


def case_order(name: str) -> tuple[object, ...]:
    """Return a key that sorts names of cases by seed and number where they hold some, then as text."""
    # Digits stand at the odd places. They are compared by length first: int() refuses very long ones.
    parts = re.split(r"([0-9]+)", name)
    digits = [part.lstrip("0") for part in parts[1::2]]
    parts[1::2] = [f"{len(number):09d} {number}" for number in digits]
    return (*parts, name)


def _rank_of_witness(stratum: Stratum) -> tuple[object, ...]:
    return (-stratum.margin, not stratum.witness, case_order(stratum.witness))
