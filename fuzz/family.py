"""What a family of inputs is: a promise, the parameters and shapes it draws from, and how it fills a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from fuzz.case import Domain, MergeCase
from fuzz.draft import Draft
from fuzz.parameters import Parameter
from fuzz.signatures import Signature

if TYPE_CHECKING:
    from fuzz.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """Which dimensions a family is drawn with.

    Tokens and heads come from lists, the simplest first, a repeated one drawn more often; segments, rank and
    tile come together, from the signatures of the run that fit.
    """

    tokens: tuple[int, ...] = (1, 2, 3, 4, 5, 8, 16, 33, 257, 1000, 2000)
    """T; those that are too many for the rank and the segments are left out."""
    heads: tuple[int, ...] = (1, 2, 3, 4, 8, 12, 16, 24, 64, 96, 97, 128)
    """H."""
    least_segments: int = 1
    """Smallest S over which the promise means something."""
    largest_tile: int = 1 << 16
    """Largest tile: with more, all segments are not active for any int32 length."""
    uneven: bool = False
    """Whether S, R or the tile must be something else than a power of two."""

    def fits(self, signature: Signature) -> bool:
        """Return whether the family can be drawn with these segments, rank and tile."""
        sizes = (signature.segments, signature.rank, signature.tile_size)
        return (
            signature.segments >= self.least_segments
            and signature.tile_size <= self.largest_tile
            and (not self.uneven or any(size & (size - 1) for size in sizes))
        )


@dataclass(frozen=True, kw_only=True)
class Family:
    """One way to make nasty inputs."""

    name: str
    """Name, which is its module's under fuzz/families/."""
    domain: Domain
    """Domain of its cases; a recipe whose parameters add a fault may step down to stress."""
    promise: str
    """What every case of the family holds, in one sentence; its test looks for exactly that."""
    fill: Callable[[Draft], None]
    """Writes the family's values over the ordinary ones that a draft starts with."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Name and kind of each parameter of its recipes."""
    shapes: Shapes = field(default_factory=Shapes)
    """Dimensions to draw from."""

    def build(self, recipe: Recipe, device: str = "cpu") -> MergeCase:
        """Return the case of a recipe, computed on the device it is for: the bits are the same everywhere."""
        there = torch.device(device)
        # The context costs a little in every operation, so it is entered only where it changes something.
        with nullcontext() if torch.get_default_device() == there else there:
            draft = Draft(recipe, self.domain)
            self.fill(draft)
            return draft.finish()
