"""The drawn stream: case number n of a seed, as a pure function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache

from hypothesis import Phase, given, settings

from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from fuzz.recipe import Recipe
from fuzz.strategies import ORDINARY, Size, recipes

_BYTES = 4096
"""Random bytes per attempt; a recipe takes fewer than 200."""
_ATTEMPTS = 16
"""Tries before giving up: one suffices as long as no strategy rejects what it drew."""


COMBINATIONS = len(FAMILIES) * len(FORMATS)
"""Pairs of a family and a format: as many consecutive numbers meet each of them once."""


def combination_of(number: int) -> tuple[str, str]:
    """Return the family and the format of a number, the same for every seed."""
    families, dtypes = tuple(FAMILIES), tuple(FORMATS)
    turn, family = divmod(number, len(families))
    return families[family], dtypes[(turn + family) % len(dtypes)]


def draw_recipe(seed: int, number: int, size: Size = ORDINARY) -> Recipe:
    """Return recipe `number` (≥ 0) of the stream `seed`, for this version of the project and of Hypothesis.

    Families and formats take turns; all else comes from bytes derived from (seed, number).
    """
    if number < 0:
        raise ValueError(f"number is {number}, at least 0 is wanted")
    draw = _drawer(*combination_of(number), size)
    for attempt in range(_ATTEMPTS):
        text = f"{seed}/{number}" if attempt == 0 else f"{seed}/{number}/{attempt}"
        recipe = draw(hashlib.shake_256(text.encode()).digest(_BYTES))
        if recipe is not None:
            return recipe
    raise RuntimeError(f"no recipe came of seed {seed} number {number} in {_ATTEMPTS} attempts")


@cache
def _drawer(family: str, dtype: str, size: Size) -> Callable[[bytes], Recipe | None]:
    """Return a function from bytes to the recipe Hypothesis makes of them, None where it rejects them."""
    drawn: list[Recipe] = []

    @settings(database=None, deadline=None, phases=[Phase.generate])
    @given(recipes(FAMILIES[family], dtype, size))
    def collect(recipe: Recipe) -> None:
        drawn.append(recipe)

    # Hypothesis hangs its entry point for fuzzers on the function; its types do not know that.
    fuzz_one_input = collect.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def draw(data: bytes) -> Recipe | None:
        drawn.clear()
        fuzz_one_input(data)
        return drawn[0] if drawn else None

    return draw
