"""What was measured in one regime: all values of one dtype and result, number of segments and conditioning.

A stratum says which inputs were hard; a regime says why: how many terms a sum had and how much of it
cancelled. Every field merges exactly and in any order, like a stratum's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

CONDITIONING_EDGES: tuple[int, ...] = (0, 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 53, 64, 96, 128)
"""Lower edges of the bins of log2 of the condition number; the last bin has no upper one."""


class RegimeKey(NamedTuple):
    """What the values of a regime have in common."""

    dtype: str
    """Format of the values: the output's dtype, float32 for an lse."""
    result: str
    """`output` or `lse`."""
    segments: int
    """S of the case or less, a power of two: the bin reaches to twice it."""
    conditioning: int
    """Bits that cancel, at least: one of `CONDITIONING_EDGES`."""


@dataclass(frozen=True, kw_only=True)
class Regime:
    """The errors of one regime, in ulp of the target format at the exact value."""

    key: RegimeKey
    numbers: int = 0
    """Values with a measurable error, as in a stratum."""
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

    def merged(self, other: Regime) -> Regime:
        """Return the regime of both populations together; ValueError for another key."""
        if self.key != other.key:
            raise ValueError(f"cannot merge regime {other.key} into {self.key}")
        return replace(
            self,
            numbers=self.numbers + other.numbers,
            misrounded=self.misrounded + other.misrounded,
            max_ulp=max(self.max_ulp, other.max_ulp),
            judged_ulp=max(self.judged_ulp, other.judged_ulp),
            margin=max(self.margin, other.margin),
            bound=max(self.bound, other.bound),
        )


def segments_bin(segments: int) -> int:
    """Return the bin of a number of segments: the largest power of two in it; ValueError below 1."""
    if segments < 1:
        raise ValueError(f"{segments} segments: wanted one or more")
    return 1 << (segments.bit_length() - 1)
