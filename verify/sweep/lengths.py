"""The probe of the partition: what is active is one key of mass, what is not is NaN."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.bits import Stream, bounded
from fuzz.formats import Format
from fuzz.partition import active_of
from verify.oracle.target import Kind
from verify.oracle.values import ExactValues
from verify.sweep.enclosures import log_of_mass
from verify.sweep.probe import Probe, Rows
from verify.sweep.settle import replaced, rounded_of

SEGMENTS = (8, 16, 32, 64, 128)
TILES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Of production."""

_LENGTHS = 21  # bits of a point that number a length
_ALL = 1 << 20  # every length up to here
_NEAR = 64  # and as many on both sides of every larger power of two
_LONGEST = (1 << 31) - 1


def _lengths() -> Tensor:
    far = (1 << torch.arange(20, 32))[:, None] + torch.arange(-_NEAR, _NEAR + 1)
    lengths: Tensor = torch.unique(torch.cat([torch.arange(_ALL + 1), far[far <= _LONGEST]]))
    return lengths


class Partition(Probe):
    """The number of active segments.

    Point (i·8 + j)·2^21 + n stands for the i-th S, the j-th tile and the n-th length.
    """

    name = "partition"
    sentence = (
        "m = 0, s = 1 and o = 0 in the active segments, NaN in the others; L from 0 to 2^20 and about every "
        "power of two to 2^31 - 1, S from 8 to 128, tiles from 1 to 128: lse = ln(active)"
    )
    result = "lse"
    cell_bits = _LENGTHS - 4

    def __init__(self) -> None:
        self._lengths = _lengths()
        self._copies: dict[torch.device, Tensor] = {}
        pairs = range(len(SEGMENTS) * len(TILES))
        self.ranges = tuple((p << _LENGTHS, (p << _LENGTHS) + len(self._lengths)) for p in pairs)

    def segments(self, point: int) -> int:
        """Return the S of a point."""
        return SEGMENTS[(point >> _LENGTHS) // len(TILES)]

    def shape(self, points: Tensor) -> Tensor:
        """Return the number of the pair of S and tile."""
        return points >> _LENGTHS

    def line(self, number: int) -> str:
        """Name the line of one S and tile."""
        return f"S={SEGMENTS[number // len(TILES)]} tile={TILES[number % len(TILES)]}"

    def rows(self, points: Tensor) -> Rows:
        """Return the merges of lengths of one S and tile."""
        lengths, active, segments, tile = self._partition(points)
        beyond = torch.arange(segments, device=points.device) >= active[:, None]
        zero = torch.zeros(beyond.shape, dtype=torch.float32, device=points.device).masked_fill_(
            beyond, torch.nan
        )
        return Rows(m=zero, s=zero + 1, o=zero.clone(), lengths=lengths.to(torch.int32), tile_size=tile)

    def exact(self, points: Tensor, fmt: Format) -> tuple[ExactValues, Tensor]:
        """Return ln(active), −∞ where nothing is."""
        _, active, _, _ = self._partition(points)
        mass = active.clamp(min=1).float()
        values, doubtful = rounded_of(log_of_mass(torch.zeros_like(mass), mass), fmt)
        nothing = (active == 0).nonzero().flatten()
        ones = torch.ones(len(nothing), device=points.device)
        empty = ExactValues(
            kind=ones * int(Kind.INFINITE),
            rounded=-ones * torch.inf,
            residual=ones * 0,
            exponent=ones * fmt.emin,
        )
        return replaced(values, nothing, empty), doubtful

    def subset(self, seed: int, fmt: Format) -> Tensor:
        """Return, for every S and tile, short lengths, those about multiples and powers, and others."""
        every = []
        for pair in range(len(SEGMENTS) * len(TILES)):
            period = SEGMENTS[pair // len(TILES)] * TILES[pair % len(TILES)]
            near = (period * torch.arange(1, 17)[:, None] + torch.arange(-2, 3)).flatten()
            powers = ((1 << torch.arange(32))[:, None] + torch.arange(-3, 4)).flatten().clamp(0, _LONGEST)
            drawn = bounded(Stream(seed=seed).words(f"lengths {pair}", 256), _ALL)
            wanted = torch.unique(torch.cat([torch.arange(257), near, powers, drawn]))
            places = torch.searchsorted(self._lengths, wanted)
            places = places[self._lengths[places.clamp(max=len(self._lengths) - 1)] == wanted]
            every.append((pair << _LENGTHS) + places)
        return torch.cat(every)

    def _partition(self, points: Tensor) -> tuple[Tensor, Tensor, int, int]:
        """Return lengths, active segments, S and tile of points of one pair."""
        pair = int(points[0]) >> _LENGTHS
        segments, tile = SEGMENTS[pair // len(TILES)], TILES[pair % len(TILES)]
        if points.device not in self._copies:
            self._copies[points.device] = self._lengths.to(points.device)
        lengths = self._copies[points.device][points & ((1 << _LENGTHS) - 1)]
        return lengths, active_of(lengths, segments, tile), segments, tile
