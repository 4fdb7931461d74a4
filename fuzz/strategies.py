"""Hypothesis strategies of recipes and cases; everything drawn shrinks toward the smallest case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from fuzz.case import MergeCase
from fuzz.families import FAMILIES
from fuzz.family import Family
from fuzz.formats import FORMATS
from fuzz.parameters import Choice, Flag, Parameter, Span, Value, among
from fuzz.recipe import Recipe, expand


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a drawn case may be; what exceeds it has its tokens and heads halved, the larger first."""

    outputs: int = 8192
    """T · H · R, at most (a rank or segment count that is larger alone stays)."""
    elements: int = 1 << 18
    """T · H · S · R, at most, likewise."""


ORDINARY: Final = Size()
"""The size of ordinary draws: an exact oracle can afford it."""


@st.composite
def recipes(draw: st.DrawFn, family: Family, dtype: str, size: Size = ORDINARY) -> Recipe:
    """Draw a recipe of one family and output format."""
    shapes = family.shapes
    rank = draw(st.sampled_from(shapes.rank))
    segments = draw(st.sampled_from(shapes.segments))
    rows = max(1, min(size.outputs // rank, size.elements // (rank * segments)))
    heads, tokens = draw(st.sampled_from(shapes.heads)), draw(st.sampled_from(shapes.tokens))
    while tokens * heads > rows:
        tokens, heads = (tokens, heads // 2) if heads > tokens else (tokens // 2, heads)
    return Recipe(
        family=family.name,
        dtype=dtype,
        tokens=tokens,
        heads=heads,
        segments=segments,
        rank=rank,
        tile_size=draw(st.sampled_from(shapes.tile_size)),
        seed=draw(st.integers(0, (1 << 64) - 1)),
        params={name: draw(_values(parameter)) for name, parameter in family.parameters.items()},
    )


def merge_cases(
    families: Sequence[str] | None = None, dtypes: Sequence[str] | None = None, size: Size = ORDINARY
) -> st.SearchStrategy[MergeCase]:
    """Return a strategy of whole cases on the CPU, of the named families and dtypes or of all.

    ValueError for a name that does not exist.
    """
    family_names = _known(families, tuple(FAMILIES), "family")
    dtype_names = _known(dtypes, tuple(FORMATS), "dtype")
    pairs = [(family, dtype) for family in family_names for dtype in dtype_names]
    return st.sampled_from(pairs).flatmap(lambda pair: recipes(FAMILIES[pair[0]], pair[1], size)).map(expand)


def _values(parameter: Parameter) -> st.SearchStrategy[Value]:
    match parameter:
        case Choice():
            extra = 2 * (len(parameter.values) - 1) - 1 if parameter.usual else 0
            return st.sampled_from((*parameter.values, *(parameter.usual,) * extra))
        case Span():
            return st.integers(parameter.low, parameter.high)
        case Flag():
            return st.booleans()


def _known(names: Sequence[str] | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    for name in names or ():
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}: {among(name, known)}")
    return known if names is None else tuple(names)
