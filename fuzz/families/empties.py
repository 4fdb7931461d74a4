"""Segments without mass, in every encoding that producers write, where a kernel might look for mass."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KEEP: Final = "keep"
WILD: Final = "wild"
NAN, INF = float("nan"), float("inf")

ENCODINGS: Final[dict[str, tuple[float | str, float | str, float | str]]] = {
    "not_visited": (-INF, 1.0, 0.0),
    "phantom": (0.0, 0.0, 0.0),
    "nan_triple": (-INF, NAN, NAN),
    "no_mass": (-INF, 0.0, 0.0),
    "clamped_zero": (KEEP, 0.0, 0.0),
    "negative_zero": (KEEP, -0.0, WILD),
    "massless_high": (3.0e38, 0.0, WILD),
    "massless_inf": (INF, 0.0, WILD),
    "wild": (-INF, WILD, WILD),
}
"""(m, s, o) of each encoding; "keep" leaves the ordinary value, "wild" is any bit pattern."""

POSITIONS: Final = ("first", "middle", "last", "largest", "all_but_one", "all")
"""Which active segments of a row are empty; "largest" is the one with the largest m before it was emptied."""


def chosen(draft: Draft) -> torch.Tensor:
    """Return which segments are to be empty, [T, H, S] bool, active ones only."""
    position = draft.kind_of_row("position", POSITIONS)[..., None]
    active = draft.active.reshape(-1, 1, 1)
    last = (active - 1).clamp_min(0)
    high = torch.where(draft.written, draft.m, torch.full_like(draft.m, -INF)).argmax(dim=-1, keepdim=True)
    spared = draft.stream.below("spared", 1 << 16, *draft.row_shape)[..., None] % active.clamp_min(1)
    where = {
        "first": draft.index == 0,
        "middle": draft.index == last // 2,
        "last": draft.index == last,
        "largest": draft.index == high,
        "all_but_one": draft.index != spared,
        "all": draft.index >= 0,
    }
    marks = torch.zeros(draft.stat_shape, dtype=torch.bool)
    for number, name in enumerate(POSITIONS):
        marks |= (position == number) & where[name]
    return marks & draft.written


def _fill(draft: Draft) -> None:
    encoding = draft.kind_of_row("encoding", tuple(ENCODINGS))[..., None]
    empty = chosen(draft)
    wild_s = draft.stream.patterns("wild s", *draft.stat_shape)
    wild_o = draft.stream.patterns("wild o", *draft.shape)
    draft.s, draft.o = draft.s.to(torch.float32), draft.o.to(torch.float32)
    for number, (m, s, o) in enumerate(ENCODINGS.values()):
        here = empty & (encoding == number)
        if not isinstance(m, str):
            draft.m = torch.where(here, m, draft.m)
        draft.s = torch.where(here, wild_s if isinstance(s, str) else s, draft.s)
        draft.o = torch.where(here[..., None], wild_o if isinstance(o, str) else o, draft.o)


FAMILY = Family(
    name="empties",
    domain=Domain.STRESS,
    promise="Each row of several active segments has empty ones, in the encoding and place the recipe names.",
    fill=_fill,
    parameters={
        "encoding": Choice(values=(*ENCODINGS, ROTATE), usual=ROTATE),
        "position": Choice(values=(*POSITIONS, ROTATE), usual=ROTATE),
        "lengths": LENGTHS,
    },
)
