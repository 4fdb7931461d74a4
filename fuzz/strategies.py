"""Hypothesis strategies of recipes and cases; everything drawn shrinks toward the smallest case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from fuzz.case import MergeCase
from fuzz.families import DRAWN
from fuzz.family import Family
from fuzz.formats import FORMATS
from fuzz.parameters import Choice, Flag, Parameter, Span, Text, Value, among
from fuzz.recipe import Recipe, expand
from fuzz.signatures import TIERS, Signature, signatures


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
def recipes(
    draw: st.DrawFn,
    family: Family,
    dtype: str,
    size: Size = ORDINARY,
    offered: Sequence[Signature] | None = None,
) -> Recipe:
    """Draw a recipe of one family and output format, over one of the signatures that fit the family.

    Without signatures it is over those of seed 0 that the longest tier has.
    """
    shapes = family.shapes
    choice = signatures(0, TIERS[-1]) if offered is None else offered
    one = draw(st.sampled_from(sorted(filter(shapes.fits, choice))))
    rows = max(1, min(size.outputs // one.rank, size.elements // (one.rank * one.segments)))
    heads = draw(st.sampled_from(shapes.heads))
    # As many draws whatever fits: a larger shape must not look simpler for having no choice of tokens.
    place, few = draw(st.integers(0, len(shapes.tokens) - 1)), [t for t in shapes.tokens if t <= rows] or [1]
    tokens = few[place % len(few)]
    while tokens * heads > rows:
        tokens, heads = (tokens, heads // 2) if heads > tokens else (tokens // 2, heads)
    return Recipe(
        family=family.name,
        dtype=dtype,
        tokens=tokens,
        heads=heads,
        segments=one.segments,
        rank=one.rank,
        tile_size=one.tile_size,
        seed=draw(st.integers(0, (1 << 64) - 1)),
        params={name: draw(_values(parameter)) for name, parameter in family.parameters.items()},
    )


def merge_cases(
    families: Sequence[str] | None = None, dtypes: Sequence[str] | None = None, size: Size = ORDINARY
) -> st.SearchStrategy[MergeCase]:
    """Return a strategy of whole cases on the CPU, of the named families and dtypes or of all.

    ValueError for a name that does not exist.
    """
    family_names = _known(families, tuple(DRAWN), "family")
    dtype_names = _known(dtypes, tuple(FORMATS), "dtype")
    pairs = [(family, dtype) for family in family_names for dtype in dtype_names]
    return st.sampled_from(pairs).flatmap(lambda pair: recipes(DRAWN[pair[0]], pair[1], size)).map(expand)


def _values(parameter: Parameter) -> st.SearchStrategy[Value]:
    match parameter:
        case Choice():
            extra = 2 * (len(parameter.values) - 1) - 1 if parameter.usual else 0
            return st.sampled_from((*parameter.values, *(parameter.usual,) * extra))
        case Span():
            return st.integers(parameter.low, parameter.high)
        case Flag():
            return st.booleans()
        case Text():
            # A text tells of a case that was met; none is drawn.
            return st.just("")


def _known(names: Sequence[str] | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    for name in names or ():
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}: {among(name, known)}")
    return known if names is None else tuple(names)
