"""Ordinary values behind every kind of stride and offset."""

from __future__ import annotations

import torch

from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.layouts import LAYOUTS
from fuzz.lengths import LENGTHS
from fuzz.parameters import Choice

EXPANDED = {"expanded_tokens": 0, "expanded_heads": 1, "expanded_segments": 2, "expanded_rank": 3}
"""The dimension that each expanding layout repeats."""


def _fill(draft: Draft) -> None:
    draft.layout = str(draft.recipe.params["layout"])
    axis = EXPANDED.get(draft.layout)
    if axis is not None:
        _repeat(draft, axis)


def _repeat(draft: Draft, axis: int) -> None:
    """Give every slice along the dimension the values of the first, as there is memory for one only."""
    for name in ("o", "m", "s"):
        tensor = getattr(draft, name)
        if axis < tensor.ndim:
            setattr(draft, name, tensor.narrow(axis, 0, 1).expand(tensor.shape).clone())
    if axis == 0:
        draft.lengths = draft.lengths[:1].expand(draft.lengths.shape).clone()
    if axis == 2:
        # All segments share memory, so none may be inactive garbage of its own.
        draft.lengths = torch.full_like(draft.lengths, draft.recipe.segments * draft.recipe.tile_size)
    draft.tail = ("plausible",)


FAMILY = Family(
    name="layouts",
    domain=Domain.STRESS,
    promise="The tensors are laid out in memory as the recipe says, with ordinary values seen through it.",
    fill=_fill,
    parameters={"layout": Choice(values=tuple(LAYOUTS)), "lengths": LENGTHS},
    shapes=Shapes(tokens=(2, 3, 4, 5, 8), heads=(2, 3, 4, 8), least_segments=2),
)
