"""Sets of whole numbers as people write them: `1..128`, `pow2 8..128`, `odd 1..9`, `8,16,32`, `any`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = re.compile(r"(?:(?P<kind>pow2|odd|even) +)?(?P<low>\d+)(?P<dots>\.\.(?P<high>\d+)?)?")


@dataclass(frozen=True, kw_only=True)
class _Range:
    """The numbers low … high of one kind."""

    kind: str
    """`pow2`, `odd`, `even` or empty."""
    low: int
    """Smallest."""
    high: int | None
    """Largest; None for no end."""

    def __contains__(self, number: int) -> bool:
        """Tell whether a number is one of them."""
        if number < self.low or (self.high is not None and number > self.high):
            return False
        if self.kind == "pow2":
            return number > 0 and number & (number - 1) == 0
        return not self.kind or number % 2 == (self.kind == "odd")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A set of whole numbers, none below 0."""

    text: str
    """As it is written."""
    ranges: tuple[_Range, ...]
    """Whose union it is."""

    def __contains__(self, number: int) -> bool:
        """Tell whether a number is in the set."""
        return any(number in each for each in self.ranges)

    def __str__(self) -> str:
        """Write it as it was written."""
        return self.text


def numbers(text: str) -> Numbers:
    """Read a set; ValueError says what is amiss."""
    text = " ".join(text.split())
    if text == "any":
        return Numbers(text=text, ranges=(_Range(kind="", low=0, high=None),))
    return Numbers(text=text, ranges=tuple(_range(part.strip()) for part in text.split(",")))


def _range(text: str) -> _Range:
    found = _RANGE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not N, N..M, N.., pow2 N..M, odd N..M, even N..M or any")
    low = int(found["low"])
    high = (int(found["high"]) if found["high"] else None) if found["dots"] else low
    if high is not None and high < low:
        raise ValueError(f"{text!r} holds no number")
    return _Range(kind=found["kind"] or "", low=low, high=high)


ANY = numbers("any")
"""Every number."""
