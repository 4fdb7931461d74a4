"""Compile signatures: the few triples of segments, rank and tile that a run draws its shapes from.

Public kernels take the three as compile-time constants, so that each new triple costs a compilation, while
tokens, heads and values cost nothing. A run therefore meets few triples and varies the rest within them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fuzz.bits import Stream
from fuzz.partition import MAX_TILE


@dataclass(frozen=True, kw_only=True, order=True)
class Signature:
    """What a kernel may be compiled for; the order is from simple to large."""

    segments: int
    """S."""
    rank: int
    """R."""
    tile_size: int
    """Keys in one tile of the producer."""


TIERS: Final = (8, 24, 64)
"""Signatures that the first 1, 6 and 20 rounds of a stream draw from."""

_ROUNDS: Final = (1, 6, 20)
_STEP: Final = 8
"""Signatures that each doubling of the rounds adds beyond the last tier."""

_ATTEMPTS: Final = 1000

_BOUNDARIES: Final = (
    # The smallest; few and odd; the production shapes; the largest S of production over its largest tile.
    ((1, 1, 1), (2, 16, 3), (4, 64, 16), (5, 33, 7), (8, 512, 16), (128, 512, 128)),
    (
        (1, 512, 64),
        (2, 1, MAX_TILE),
        (7, 1024, 5),
        (16, 512, 64),
        (24, 576, 48),
        (64, 512, 128),
        (65, 80, 1),
        (130, 8, 16),
    ),
    (
        (1, 1000, 3),
        (3, 255, 3),
        (5, 2, 65536),
        (8, 511, 32),
        (8, 513, 16),
        (9, 448, 96),
        (19, 7, 1000),
        (24, 16, MAX_TILE),
        (31, 31, 24),
        (33, 65, 100),
        (100, 3, 33),
        (127, 129, 2),
        (129, 127, 7),
        (255, 5, 1),
        (257, 1, 8),
        (257, 1024, 127),
    ),
)
"""The shapes (S, R, tile) that open each tier, whatever the seed."""

_SEGMENTS: Final = (1, 2, 3, 4, 5, 6, 8, 8, 16, 16, 24, 32, 32, 64, 65, 128)
_RANK: Final = (1, 2, 8, 16, 33, 63, 64, 65, 80, 128, 129, 256, 448, 512, 512, 512)
_TILES: Final = (1, 2, 3, 5, 8, 16, 16, 24, 32, 48, 64, 64, 100, 127, 128, 128)
"""What the other signatures are drawn from; a repeated number is drawn more often."""


@lru_cache(maxsize=64)
def signatures(seed: int, count: int) -> tuple[Signature, ...]:
    """Return the first `count` signatures of a seed, all different; more of them begin with the same ones."""
    boundaries = [[_signature(*shape) for shape in tier] for tier in _BOUNDARIES]
    chosen: list[Signature] = []
    # A drawn one is no boundary either: those have their turn.
    taken = {signature for tier in boundaries for signature in tier}
    for number in range(count):
        tier = sum(end <= number for end in TIERS)
        place = number - (0, *TIERS)[tier]
        if tier < len(TIERS) and place < len(boundaries[tier]):
            chosen.append(boundaries[tier][place])
        else:
            chosen.append(_drawn(Stream(seed=seed), number, taken))
            taken.add(chosen[-1])
    return tuple(chosen)


def tier_of(turn: int) -> int:
    """Return how many signatures the cases of round `turn` (≥ 0) draw from; later ones from no fewer."""
    for size, rounds in zip(TIERS, _ROUNDS, strict=True):
        if turn < rounds:
            return size
    return TIERS[-1] + _STEP * (turn // _ROUNDS[-1]).bit_length()


def _signature(segments: int, rank: int, tile_size: int) -> Signature:
    return Signature(segments=segments, rank=rank, tile_size=tile_size)


def _drawn(stream: Stream, number: int, taken: Set[Signature]) -> Signature:
    """Return a signature that is not taken: the lists have thousands, of which no stream asks for many."""
    for attempt in range(_ATTEMPTS):
        segments, rank, tile = (
            stream.pick(f"signature {number}/{attempt} {name}", values)
            for name, values in (("S", _SEGMENTS), ("R", _RANK), ("tile", _TILES))
        )
        if (drawn := _signature(segments, rank, tile)) not in taken:
            return drawn
    raise ValueError(f"there are no {number + 1} different signatures")
