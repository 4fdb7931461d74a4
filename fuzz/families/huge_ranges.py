"""Maxima so far apart that a weight underflows, nearly does, or must not."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import scale_by_power
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

GAPS: Final[dict[str, tuple[float, ...]]] = {
    "normal_edge": (125.0, 125.5, 126.0, 126.5, 127.0, 127.5, 128.0),
    "subnormal_edge": (148.0, 148.5, 149.0, 149.5, 150.0, 150.5, 151.0),
    "twice_edge": (252.0, 253.0, 254.0, 275.5, 276.0, 298.0, 300.0),
    # The largest o over the smallest s is 2^276, of which 2^-425 leaves the smallest float32.
    "thrice_edge": (330.0, 350.5, 399.0, 424.0, 425.0, 426.0, 450.0),
    "double_edge": (511.0, 512.0, 513.0, 1021.5, 1022.0, 1023.0, 1074.0, 1075.0, 2048.0),
    "powers": tuple(
        2.0**k for k in (-149, -126, -60, -24, -10, -1, 0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 23, 24, 31, 64, 120)
    ),
    "extreme": (1.0e38, 2.0e38, 3.0e38, 3.4028234663852886e38),
}
"""How far below the largest maximum of its row another segment's may lie, by kind."""

_NEAR: Final = 8
GIVEN_BACK: Final = {"none": (0, 0), "normal": (200, 100), "far": (258, 143)}
"""Powers of two that are given back at most, and that all are lowered by: s from 2^-143 to 2^115 and more."""


def _fill(draft: Draft) -> None:
    kind = draft.kind_of_row("gap", tuple(GAPS))[..., None]
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    top = draft.stream.below("top", 1 << 16, *draft.row_shape)[..., None] % active
    below = torch.zeros(draft.stat_shape, dtype=torch.float64)
    for number, (name, values) in enumerate(GAPS.items()):
        below = torch.where(
            kind == number, draft.stream.one_of(f"gap {name}", values, *draft.stat_shape), below
        )
    # Half of the segments stay within 8 of the top, so that there is a result to disturb.
    near = draft.stream.below("near", 2, *draft.stat_shape) == 0
    below = torch.where(near, draft.stream.unit("below", *draft.stat_shape) * _NEAR, below)
    below = torch.where(draft.index == top, torch.zeros_like(below), below)
    # The row's level may be anywhere; the extreme gaps only fit below a top that is high enough.
    level = draft.stream.one_of("level", (0.0, 0.0, -20.25, 100.0, 1.7e38, 3.3e38), *draft.row_shape)[
        ..., None
    ]
    draft.m = (level - below).clamp(-3.4028234663852886e38, 3.4028234663852886e38)
    # What the weight takes away is given back in o and s.
    given = draft.kind_of_row("given_back", tuple(GIVEN_BACK))[..., None]
    most, lowered = torch.tensor(list(GIVEN_BACK.values()))[given].unbind(-1)
    lift = torch.minimum(below, most.double()).floor().to(torch.int64) - lowered
    draft.o = scale_by_power(draft.o, lift[..., None])
    draft.s = scale_by_power(draft.s, lift)
    # Where those near the top have no value, what a far one adds is all that there is.
    alone = (most > 0) & (draft.stream.below("alone", 2, *draft.row_shape)[..., None] == 1)
    draft.o = torch.where((alone & (below < _NEAR))[..., None], 0.0, draft.o)


FAMILY = Family(
    name="huge_ranges",
    domain=Domain.STRESS,
    promise="Each row of two or more active segments has maxima as far apart as the recipe's gap says.",
    fill=_fill,
    parameters={
        "gap": Choice(values=(*GAPS, ROTATE), usual=ROTATE),
        "given_back": Choice(values=(*GIVEN_BACK, ROTATE), usual=ROTATE),
        "lengths": LENGTHS,
    },
    shapes=Shapes(least_segments=2),
)
