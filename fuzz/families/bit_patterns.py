"""Every field uniform over the bit patterns of float32."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import float32_pattern
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("finite", "any", "near")
"""All of m, s, o finite and s positive; no restriction; finite, with the maxima within ±32 of one another."""

_SIGN: Final = 1 << 31
_LARGEST: Final = 0x7F7FFFFF


def _finite(draft: Draft, label: str, *shape: int, signed: bool) -> torch.Tensor:
    """Return float32 values uniform over the finite patterns, zeros excepted where unsigned."""
    code = draft.stream.span(f"{label} code", 0 if signed else 1, _LARGEST, *shape)
    if signed:
        code = code + _SIGN * draft.stream.below(f"{label} ±", 2, *shape)
    return float32_pattern(code)


def _fill(draft: Draft) -> None:
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    unrestricted = kind == KINDS.index("any")
    stats, shape = draft.stat_shape, draft.shape
    near = draft.stream.spread("near", -20, 4, *stats)
    m = torch.where(kind == KINDS.index("near"), near, _finite(draft, "m", *stats, signed=True))
    s, o = _finite(draft, "s", *stats, signed=False), _finite(draft, "o", *shape, signed=True)
    draft.m = torch.where(unrestricted, draft.stream.patterns("any m", *stats), m.to(torch.float32))
    draft.s = torch.where(unrestricted, draft.stream.patterns("any s", *stats), s)
    draft.o = torch.where(unrestricted[..., None], draft.stream.patterns("any o", *shape), o)


FAMILY = Family(
    name="bit_patterns",
    domain=Domain.STRESS,
    promise="m, s and o of all active segments are uniform over the bit patterns that the recipe admits.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
