"""Maxima far from zero and close together, where a change of base or of sign costs the low bits."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import power_of_two
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("fine", "usual")
"""Maxima a few float32 steps apart; maxima within 16 of one another, rounded to float32."""

LOWEST: Final = 5
HIGHEST: Final = 30
"""Exponents of the levels."""

STEPS: Final = 32
"""How many float32 steps a fine one lies from its level, at most."""


def _fill(draft: Draft) -> None:
    stream, stats = draft.stream, draft.stat_shape
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    exponent = stream.span("exponent", LOWEST, HIGHEST, *draft.row_shape)[..., None]
    part = stream.below("part", 1 << 23, *draft.row_shape)[..., None].to(torch.float64) * 2.0**-23
    level = stream.signs("±", *draft.row_shape)[..., None] * (1.0 + part) * power_of_two(exponent)
    step = power_of_two(exponent - 23) * stream.span("step", -STEPS, STEPS, *stats).to(torch.float64)
    draft.m = level + torch.where(kind == KINDS.index("fine"), step, draft.m)


FAMILY = Family(
    name="lofty",
    domain=Domain.STRESS,
    promise="The maxima of each row lie about a level of 2^5 to 2^31 on either side of zero, a few float32 "
    "steps or at most 16 apart.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
