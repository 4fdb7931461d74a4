"""What a family of inputs is: a promise, the parameters and shapes it draws from, and how it fills a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuzz.case import Domain, MergeCase
from fuzz.draft import Draft
from fuzz.parameters import Parameter

if TYPE_CHECKING:
    from fuzz.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """The dimensions that a family is drawn with; the simplest first, a repeated one is drawn more often."""

    tokens: tuple[int, ...] = (1, 2, 3, 4, 5, 8, 16)
    """T."""
    heads: tuple[int, ...] = (1, 2, 3, 4, 8, 12, 16, 24)
    """H."""
    segments: tuple[int, ...] = (1, 2, 3, 4, 5, 8, 16, 16, 32, 64)
    """S."""
    rank: tuple[int, ...] = (1, 2, 8, 16, 33, 64, 64, 80, 128, 256, 512, 512)
    """R."""
    tile_size: tuple[int, ...] = (1, 2, 3, 8, 16, 16, 32, 64, 128)
    """Tile of the producer."""


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
        """Return the case of a recipe, always computed on the CPU and then moved: same bits everywhere."""
        draft = Draft(recipe, self.domain)
        self.fill(draft)
        case = draft.finish()
        return case if device == "cpu" else case.to(device)
