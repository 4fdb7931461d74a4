"""Segments that the producer never wrote, full of what would do most harm."""

from __future__ import annotations

from typing import Final

from fuzz import garbage
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.parameters import Choice

ANY: Final = "any"


def _fill(draft: Draft) -> None:
    kind = str(draft.recipe.params["garbage"])
    draft.tail = garbage.KINDS if kind == ANY else (kind,)
    if draft.recipe.tokens > 2:
        draft.lengths[1] = 0  # a row with no segment at all, beside others


FAMILY = Family(
    name="poisoned_tail",
    domain=Domain.STRESS,
    promise="Each row of several segments has an inactive tail, full of the garbage the recipe names.",
    fill=_fill,
    parameters={
        "garbage": Choice(values=(*garbage.KINDS, ANY), usual=ANY),
        "lengths": Choice(values=("partial",)),
    },
    shapes=Shapes(least_segments=2),
)
