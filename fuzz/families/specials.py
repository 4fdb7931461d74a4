"""NaN, infinities and illegal masses in every field of live segments: who must become NaN, and who not."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

NAN, INF = float("nan"), float("inf")

KINDS: Final[dict[str, dict[str, float]]] = {
    "m_nan": {"m": NAN},
    "m_nan_massless": {"m": NAN, "s": 0.0},
    "m_inf": {"m": INF},
    "s_nan": {"s": NAN},
    "s_inf": {"s": INF},
    "s_minus_inf": {"s": -INF},
    "s_negative": {"s": -1.0},
    "s_negative_tiny": {"s": -(2.0**-149)},
    "o_nan": {"o": NAN},
    "o_inf": {"o": INF},
    "o_minus_inf": {"o": -INF},
    "o_both": {"o": INF},
    "o_inf_nan": {"o": INF},
    "o_inf_far": {"m": -1.0e5, "o": INF},
    "o_nan_far": {"m": -3.0e38, "o": NAN},
    "none": {},
}
"""What one active segment of a row gets. In "o_both" and "o_inf_nan" the next one gets −inf or NaN; "far"
ones have no weight that any format could show; o is struck in some columns only."""

SECOND: Final[dict[str, float]] = {"o_both": -INF, "o_inf_nan": NAN}


def _fill(draft: Draft) -> None:
    stream = draft.stream
    kind = draft.kind_of_row("kind", tuple(KINDS))[..., None]
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    place = stream.below("place", 1 << 16, *draft.row_shape)[..., None] % active
    struck = (draft.index == place) & draft.written
    after = (draft.index == (place + 1) % active) & draft.written & ~struck
    column = stream.below("column", 3, *draft.row_shape, draft.recipe.rank) == 0
    one = stream.below("one column", 1 << 16, *draft.row_shape)[..., None] % draft.recipe.rank
    column = (column | (torch.arange(draft.recipe.rank) == one))[:, :, None]
    for number, (name, fields) in enumerate(KINDS.items()):
        here = struck & (kind == number)
        if "m" in fields:
            draft.m = torch.where(here, fields["m"], draft.m)
        if "s" in fields:
            draft.s = torch.where(here, fields["s"], draft.s)
        if "o" in fields:
            draft.o = torch.where(here[..., None] & column, fields["o"], draft.o)
        if name in SECOND:
            draft.o = torch.where((after & (kind == number))[..., None] & column, SECOND[name], draft.o)


FAMILY = Family(
    name="specials",
    domain=Domain.STRESS,
    promise="One active segment of each row has the special value that the recipe's kind names, in the field "
    "that it names.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
