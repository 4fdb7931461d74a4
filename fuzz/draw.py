"""The drawn stream: case number n of a seed, as a pure function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache

from hypothesis import Phase, given, settings

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from fuzz.recipe import Recipe
from fuzz.signatures import Signature, signatures, tier_of
from fuzz.strategies import ORDINARY, Size, recipes

_BYTES = 4096
"""Random bytes per attempt; a recipe takes fewer than 200."""
_ATTEMPTS = 16
"""Tries before giving up: one suffices as long as no strategy rejects what it drew."""

COMBINATIONS = len(DRAWN) * len(FORMATS)
"""Pairs of a family and a format: as many consecutive numbers, a round, meet each of them once."""

_DRAWERS = 2 * COMBINATIONS
"""Strategies that are kept: those of a round, and of the next."""


def combination_of(number: int) -> tuple[str, str]:
    """Return the family and the format of a number, the same for every seed."""
    families, dtypes = tuple(DRAWN), tuple(FORMATS)
    turn, family = divmod(number, len(families))
    return families[family], dtypes[(turn + family) % len(dtypes)]


def signature_limit(number: int) -> int:
    """Return how many signatures of its seed a number draws from: 8 in the first round, 24 in the first 6.

    Then 64 in the first 20, and a few more whenever the rounds have doubled.
    """
    return tier_of(number // COMBINATIONS)


def draw_recipe(seed: int, number: int, size: Size = ORDINARY) -> Recipe:
    """Return recipe `number` (≥ 0) of the stream `seed`, for this version of the project and of Hypothesis.

    Families and formats take turns; S, R and the tile are one of the first `signature_limit(number)`
    signatures of the seed; all else comes from bytes derived from (seed, number).
    """
    if number < 0:
        raise ValueError(f"number is {number}, at least 0 is wanted")
    draw = _drawer(*combination_of(number), size, signatures(seed, signature_limit(number)))
    for attempt in range(_ATTEMPTS):
        text = f"{seed}/{number}" if attempt == 0 else f"{seed}/{number}/{attempt}"
        recipe = draw(hashlib.shake_256(text.encode()).digest(_BYTES))
        if recipe is not None:
            return recipe
    raise RuntimeError(f"no recipe came of seed {seed} number {number} in {_ATTEMPTS} attempts")


@lru_cache(maxsize=_DRAWERS)
def _drawer(
    family: str, dtype: str, size: Size, among: tuple[Signature, ...]
) -> Callable[[bytes], Recipe | None]:
    """Return a function from bytes to the recipe Hypothesis makes of them, None where it rejects them."""
    drawn: list[Recipe] = []

    @settings(database=None, deadline=None, phases=[Phase.generate])
    @given(recipes(DRAWN[family], dtype, size, among))
    def collect(recipe: Recipe) -> None:
        drawn.append(recipe)

    # Hypothesis hangs its entry point for fuzzers on the function; its types do not know that.
    fuzz_one_input = collect.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def draw(data: bytes) -> Recipe | None:
        drawn.clear()
        fuzz_one_input(data)
        return drawn[0] if drawn else None

    return draw
