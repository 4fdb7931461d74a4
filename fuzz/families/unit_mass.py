"""Total masses at one and as near to it as float32 allows, where the logarithm is all cancellation."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import power_of_two
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.exp2 import exp2
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("exact", "steps", "power", "far", "fraction")
"""One segment with s = 2^-m; s a few float32 steps beside that; s = 2^-m·(1 + 2^-k); a second segment that
adds 2^-k; s = 2^-m rounded, with an m that is no integer."""


def _fill(draft: Draft) -> None:
    stream, rows = draft.stream, draft.row_shape
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    level = stream.span("level", -126, 126, *rows)
    # Producers have s ≥ 1, so maxima at or below 0 are met as often as all others; 20 and 126 always.
    level = torch.where(
        stream.below("level low", 2, *rows) == 0, -stream.below("level few", 24, *rows), level
    )
    seen = stream.below("level known", 6, *rows)
    level = torch.where(seen == 0, 20, torch.where(seen == 1, 126, level))[..., None]
    steps = stream.span("steps", -4, 4, *rows)[..., None].to(torch.float64) * 2.0**-23
    power = power_of_two(-stream.span("power", 1, 23, *rows))[..., None]
    excess = torch.where(kind == KINDS.index("steps"), steps, torch.zeros_like(steps))
    excess = torch.where(kind == KINDS.index("power"), power, excess)
    m = level.to(torch.float64)
    s = power_of_two(-level) * (1.0 + excess)
    # 24 fraction bits below 2^7 would be rounded; 16 are held by float32 exactly.
    part = stream.below("part", 1 << 16, *rows)[..., None].to(torch.float64) * 2.0**-16
    fractional = kind == KINDS.index("fraction")
    m = torch.where(fractional, m - part, m)
    s = torch.where(fractional, exp2(-m).to(torch.float32).to(torch.float64), s)

    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    one = stream.below("one", 1 << 16, *rows)[..., None] % active
    other = (one + 1) % active
    added = (kind == KINDS.index("far")) & (draft.index == other) & (other != one)
    gap = stream.span("gap", 1, 160, *rows)[..., None].to(torch.float64)
    # Those that add nothing are empty, or so far below that they cannot be seen beside one.
    unseen = stream.below("unseen", 2, *draft.stat_shape) == 0
    draft.m = torch.where(unseen, -1.0e6 - draft.m, draft.m)
    draft.s = torch.where(unseen, draft.s, torch.zeros_like(draft.s))
    draft.m = torch.where(added, -gap, torch.where(draft.index == one, m, draft.m))
    draft.s = torch.where(added, 1.0, torch.where(draft.index == one, s, draft.s))


FAMILY = Family(
    name="unit_mass",
    domain=Domain.STRESS,
    promise="Each active row has a total mass of one, or beside one by what the recipe's kind adds, apart "
    "from masses below 2^-900000.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
