"""A case in the making: ordinary partials that a family then overwrites."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from fuzz import garbage, lengths
from fuzz.bits import Stream, plain_nan
from fuzz.case import Domain, MergeCase
from fuzz.formats import Format, format_named
from fuzz.layouts import laid_out
from fuzz.parameters import ROTATE
from fuzz.partition import active_of

if TYPE_CHECKING:
    from fuzz.recipe import Recipe


def _ordinary_masses(draft: Draft) -> torch.Tensor:
    return (draft.stream.unit("ordinary s", *draft.stat_shape) * 63 + 1).to(torch.float32).to(torch.float64)


def _narrow(tensor: torch.Tensor) -> torch.Tensor:
    """Return float32; the NaNs of another dtype become the usual one, as no two devices narrow them alike."""
    if tensor.dtype == torch.float32:
        return tensor.contiguous()
    return plain_nan(tensor.to(torch.float32)).contiguous()


class Draft:
    """The tensors of a case while a family works on them, on torch's present device.

    It starts with ordinary values: |m| < 8, 1 ≤ s < 64, |o| < 4·s, and with the lengths that the recipe's
    parameter `lengths` asks for. A family writes to `o` [T, H, S, R], `m` and `s` [T, H, S] (float64, or
    float32 where the bits of a NaN count) and `lengths` [T] (int64); `finish` then fills the inactive
    segments with garbage.
    """

    def __init__(self, recipe: Recipe, domain: Domain) -> None:
        self.recipe = recipe
        self.domain = domain
        self.stream = Stream(seed=recipe.seed)
        self.format: Format = format_named(recipe.dtype)
        self.layout = "contiguous"
        self.length_dtype = torch.int32
        self.tail: tuple[str, ...] = garbage.KINDS
        self.row_shape = (recipe.tokens, recipe.heads)
        self.stat_shape = (*self.row_shape, recipe.segments)
        self.shape = (*self.stat_shape, recipe.rank)
        self._period = 1

        self.lengths = lengths.drawn(recipe, self.stream)

    # Ordinary values are made when a family first looks at them: many write o without.

    @cached_property
    def m(self) -> torch.Tensor:
        """Maxima, [T, H, S]."""
        return self.stream.unit("ordinary m", *self.stat_shape) * 16 - 8

    @cached_property
    def s(self) -> torch.Tensor:
        """Masses, [T, H, S]."""
        return _ordinary_masses(self)

    @cached_property
    def o(self) -> torch.Tensor:
        """Weighted sums of values, [T, H, S, R]."""
        share = (self.stream.unit("ordinary o", *self.shape)).mul_(8).sub_(4)
        return share.mul_(_ordinary_masses(self)[..., None])

    @property
    def active(self) -> torch.Tensor:
        """Active segments of each token, [T] int64."""
        return active_of(self.lengths, self.recipe.segments, self.recipe.tile_size)

    @property
    def index(self) -> torch.Tensor:
        """Index of each segment, [1, 1, S] int64, to compare with row quantities [T, H, 1]."""
        return torch.arange(self.recipe.segments).reshape(1, 1, -1)

    @property
    def written(self) -> torch.Tensor:
        """Whether the producer wrote a segment, [T, H, S] bool."""
        return (self.index < self.active.reshape(-1, 1, 1)).expand(self.stat_shape)

    @property
    def row(self) -> torch.Tensor:
        """Number of each row, [T, H] int64."""
        return torch.arange(self.row_shape[0] * self.row_shape[1]).reshape(self.row_shape)

    def kind_of_row(self, parameter: str, values: Sequence[str]) -> torch.Tensor:
        """Return for each row, [T, H] int64, which of the values it takes.

        All rows take the one that the recipe names, or each the next where the recipe says ROTATE. Several
        rotating parameters turn like the digits of a counter, so enough rows meet every combination.
        """
        value = self.recipe.params[parameter]
        if value != ROTATE:
            return torch.full(self.row_shape, values.index(str(value)), dtype=torch.int64)
        offset = int(self.stream.below(f"rotate {parameter}", len(values), 1)[0])
        kinds = (self.row // self._period + offset) % len(values)
        self._period *= len(values)
        return kinds

    def finish(self) -> MergeCase:
        """Return the case, the inactive segments filled with garbage."""
        o, m, s = (_narrow(tensor) for tensor in (self.o, self.m, self.s))
        o, m, s = garbage.fill(o, m, s, ~self.written, self.stream, self.tail)
        o, m, s, seq_lens = laid_out(self.layout, o, m, s, self.lengths.to(self.length_dtype))
        return MergeCase(
            segm_output=o,
            segm_max=m,
            segm_expsum=s,
            seq_lens=seq_lens,
            tile_size=self.recipe.tile_size,
            out_dtype=self.recipe.dtype,
            domain=self.domain,
            layout=self.layout,
            recipe=self.recipe,
        )
