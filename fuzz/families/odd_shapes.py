"""Shapes that no power of two fits."""

from __future__ import annotations

from typing import Final

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.lengths import LENGTHS

HEADS: Final = (1, 2, 3, 5, 12, 24, 48, 65, 96, 97, 127)


def _fill(draft: Draft) -> None:
    """Leave the ordinary values: it is the shape that counts."""


FAMILY = Family(
    name="odd_shapes",
    domain=Domain.STRESS,
    promise="Segments, rank or tile is no power of two, heads come from a list full of odd numbers, and the "
    "values are ordinary.",
    fill=_fill,
    parameters={"lengths": LENGTHS},
    shapes=Shapes(tokens=(1, 2, 3, 5, 7, 17, 129, 999), heads=HEADS, uneven=True),
)
