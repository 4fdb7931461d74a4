"""Which points a sweep looks at: ranges of integers, and the stratified subset of them.

A point of most probes is the code of a float32: the integer whose 32 bits are the float's. Where only a
subset is looked at, it holds every boundary and every value of the narrow formats, and draws the rest, as
many from each cell of sign, exponent and leading four bits of the significand.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from fuzz.bits import Stream, bounded, float32_pattern
from fuzz.formats import FORMATS, Format

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of points, ascending and apart."""

SIGN = 1 << 31
INFINITE = 255 << 23
"""Code of float32's infinity: smaller ones are those of the finite numbers from 0 up."""
CELL = 19
"""Bits of a code below its leading four bits of significand."""

_DRAWN = 4  # points of each cell
_SMALLEST = 256  # subnormals from 2^-149 up that are all taken
_NEAR = 3  # steps on both sides of a boundary


def floats(codes: Tensor) -> Tensor:
    """Return the float32s with these codes."""
    return float32_pattern(codes)


def codes(values: Tensor) -> Tensor:
    """Return the codes of float32s."""
    return values.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF


def inside(points: Tensor, ranges: Ranges) -> Tensor:
    """Return those of the points that lie in the ranges, ascending, each once."""
    kept = torch.zeros_like(points, dtype=torch.bool)
    for start, stop in ranges:
        kept |= (points >= start) & (points < stop)
    unique: Tensor = torch.unique(points[kept])
    return unique


@cache
def subset(ranges: Ranges, seed: int) -> Tensor:
    """Return a seeded stratified subset of the codes in the ranges."""
    powers = torch.arange(256) << 23
    near = torch.arange(-_NEAR, _NEAR + 1)
    magnitudes = torch.cat(
        [(powers[:, None] + near).flatten(), torch.arange(_SMALLEST), _of_narrow_formats(), _subnormals(seed)]
    )
    cells = torch.arange(1 << (32 - CELL))
    drawn = bounded(Stream(seed=seed).words("sweep", len(cells), _DRAWN), 1 << CELL)
    return inside(
        torch.cat([magnitudes, magnitudes | SIGN, ((cells[:, None] << CELL) + drawn).flatten()]), ranges
    )


@cache
def midpoints(fmt: Format) -> Tensor:
    """Return the codes of all float32s within a step of a midpoint of two neighbours of a format.

    The one between the largest value and the next that a wider exponent would give is among them; there is
    none of float32 itself.
    """
    if fmt.bits == 32:
        return torch.empty(0, dtype=torch.int64)
    values = torch.unique(_values(fmt).abs())
    values = values[values.isfinite()]
    values = torch.cat([values, values[-1:] + (values[-1:] - values[-2:-1])])
    middle = codes(((values[1:] + values[:-1]) / 2).float())
    near = (middle[:, None] + torch.arange(-1, 2)).flatten()
    return torch.cat([near, near | SIGN])


def _values(fmt: Format) -> Tensor:
    """Return the values of all codes of a format of 8 or 16 bits, in float64."""
    return torch.arange(1 << fmt.bits).to(fmt.int_dtype).view(fmt.torch_dtype).double()


def _of_narrow_formats() -> Tensor:
    """Return the codes of all values of the formats of 8 and 16 bits, without their signs."""
    narrow = [_values(fmt).float() for fmt in FORMATS.values() if fmt.bits < 32]
    return codes(torch.cat(narrow)) & (SIGN - 1)


def _subnormals(seed: int) -> Tensor:
    """Return subnormals drawn from each binade: their codes' cells are as wide as all small binades."""
    binades = torch.arange(23)
    drawn = Stream(seed=seed).words("subnormals", 23, 16 * _DRAWN)
    return ((1 << binades[:, None]) + (drawn & ((1 << binades[:, None]) - 1))).flatten()
