"""Maxima of minus infinity, with anything beside them."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice

KINDS: Final = ("row", "half", "one", "all_but_one")
"""Which active segments of a row have m = −inf: all; about half, one at least; one; all but one."""

BESIDE: Final = ("ordinary", "nan", "inf", "patterns")
"""What stands in s and o of such a segment."""

_INF: Final = float("inf")


def _fill(draft: Draft) -> None:
    stream = draft.stream
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    beside = draft.kind_of_row("beside", BESIDE)[..., None]
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    one = draft.index == stream.below("one", 1 << 16, *draft.row_shape)[..., None] % active
    half = (stream.below("half", 2, *draft.stat_shape) == 0) | one
    marked = torch.where(kind == 0, True, torch.where(kind == 1, half, torch.where(kind == 2, one, ~one)))
    marked = marked & draft.written
    draft.m = torch.where(marked, -_INF, draft.m)
    draft.s, draft.o = draft.s.to(torch.float32), draft.o.to(torch.float32)
    infinite = (_INF * stream.signs("inf ±", *draft.shape)).to(torch.float32)
    contents = {
        "nan": (torch.full(draft.stat_shape, torch.nan), torch.full(draft.shape, torch.nan)),
        "inf": (torch.full(draft.stat_shape, _INF), infinite),
        "patterns": (stream.patterns("s", *draft.stat_shape), stream.patterns("o", *draft.shape)),
    }
    for number, name in enumerate(BESIDE):
        if name in contents:
            here = marked & (beside == number)
            s, o = contents[name]
            draft.s = torch.where(here, s, draft.s)
            draft.o = torch.where(here[..., None], o, draft.o)


FAMILY = Family(
    name="neg_inf",
    domain=Domain.STRESS,
    promise="Each active row has maxima of −inf where the recipe's kind says, beside s and o to be ignored.",
    fill=_fill,
    parameters={
        "kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE),
        "beside": Choice(values=(*BESIDE, ROTATE), usual=ROTATE),
        "lengths": LENGTHS,
    },
)
