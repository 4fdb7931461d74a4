"""Rows whose segments all hold the same quotient: o_i = c·s_i, so the output is c under any weights."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import scale_by_power
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("short_mass", "short_value", "integer_maxima")
"""c of all bits of the format and s of what float32 has left; c and s of half the bits each; the first again,
over integer maxima."""


def bits_for_mass(bits: int) -> int:
    """Return how many bits s may have so that float32 holds its product with a c of so many bits."""
    return max(1, 24 - bits)


def _fill(draft: Draft) -> None:
    stream, fmt = draft.stream, draft.format
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    short = min(fmt.precision, 12)
    shortened = kind == KINDS.index("short_value")
    columns = (*draft.row_shape, draft.recipe.rank)
    # Significands 1.f of so many bits: what is left of 24 after a shift.
    bits = torch.where(shortened, short, fmt.precision)
    value = (stream.span("c", 1 << 23, (1 << 24) - 1, *columns) >> (24 - bits)).to(torch.float64)
    exponent = stream.span("c e", max(fmt.emin, -20), min(fmt.emax - 1, 20), *columns)
    value = stream.signs("c ±", *columns) * scale_by_power(value, exponent - bits + 1)
    bits = torch.where(shortened, bits_for_mass(short), bits_for_mass(fmt.precision))
    mass = (stream.span("s", 1 << 23, (1 << 24) - 1, *draft.stat_shape) >> (24 - bits)).to(torch.float64)
    mass = scale_by_power(mass, stream.span("s e", -8, 8, *draft.stat_shape) - bits + 1)
    level = stream.unit("m", *draft.stat_shape) * 24 - 12
    draft.m = torch.where(kind == KINDS.index("integer_maxima"), level.floor(), level)
    draft.s = mass
    draft.o = value[:, :, None] * mass[..., None]


FAMILY = Family(
    name="constant",
    domain=Domain.STRESS,
    promise="In each column of each row every active segment has o = c·s exactly, c a value of the format.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
