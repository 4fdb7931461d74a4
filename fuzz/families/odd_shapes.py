"""Shapes that no power of two fits."""

from __future__ import annotations

from typing import Final

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.lengths import LENGTHS

SEGMENTS: Final = (1, 2, 3, 5, 7, 9, 24, 31, 33, 65, 100, 127, 129, 130, 255, 257)
RANK: Final = (1, 2, 3, 5, 31, 33, 63, 65, 80, 127, 129, 255, 257, 448, 511, 513, 576, 1000, 1024)
HEADS: Final = (1, 2, 3, 5, 12, 24, 48, 65, 96, 97)
TILES: Final = (1, 2, 3, 5, 7, 24, 33, 48, 96, 100, 127, 128)


def _fill(draft: Draft) -> None:
    """Leave the ordinary values: it is the shape that counts."""


FAMILY = Family(
    name="odd_shapes",
    domain=Domain.STRESS,
    promise="Segments, rank, heads and tile come from lists full of odd numbers, the values are ordinary.",
    fill=_fill,
    parameters={"lengths": LENGTHS},
    shapes=Shapes(tokens=(1, 2, 3, 5, 7, 17), heads=HEADS, segments=SEGMENTS, rank=RANK, tile_size=TILES),
)
