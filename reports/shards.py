"""Which share of a run a report holds: shard i of N, or, after a combination, several of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

_MOST = 1 << 16  # shards; more is a slip or a trap


@dataclass(frozen=True, kw_only=True)
class Shards:
    """Some of the shards of a run; written `2/8`, `0,2..4/8` or, when they are all there, `0..7/8`."""

    held: frozenset[int]
    """Their indices, from 0."""
    count: int
    """How many shards the run has in all."""

    def __str__(self) -> str:
        """Write them as `parse` reads them."""
        return f"{_ranges(self.held)}/{self.count}"

    @property
    def missing(self) -> str:
        """The indices of the others; empty when none is missing."""
        return _ranges(frozenset(range(self.count)) - self.held)


def parse(text: str) -> Shards:
    """Read what `str` wrote; ValueError, in one line, for anything else."""
    match = re.fullmatch(r"([0-9]{1,5}(?:(?:,|\.\.)[0-9]{1,5})*)/([0-9]{1,5})", text)
    if match is not None:
        held: set[int] = set()
        for piece in match[1].split(","):
            ends = [int(index) for index in piece.split("..")]
            held.update(range(ends[0], ends[-1] + 1))
        found = Shards(held=frozenset(held), count=int(match[2]))
        if held and max(held) < found.count <= _MOST and str(found) == text:
            return found
    raise ValueError(f"shard {text[:40]!r}: wanted I/N with 0 ≤ I < N ≤ {_MOST}")


def together(shards: Iterable[Shards]) -> Shards:
    """Return the union; ValueError when they are of different runs or a shard is there twice."""
    first, *others = shards
    held = first.held
    for other in others:
        if other.count != first.count:
            raise ValueError(f"shard {other} among shards of {first.count}: they are of different runs")
        if twice := held & other.held:
            raise ValueError(f"shard {_ranges(twice)}/{first.count} is there twice")
        held |= other.held
    return Shards(held=held, count=first.count)


def _ranges(indices: Iterable[int]) -> str:
    runs = groupby(enumerate(sorted(indices)), key=lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(group) for _, group in runs)]
    return ",".join(str(first) if first == last else f"{first}..{last}" for first, last in ends)
