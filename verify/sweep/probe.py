"""What a probe is: a merge whose inputs are a function of one integer, and the exact result of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.case import Domain, MergeCase
from fuzz.formats import Format
from verify.oracle.values import ExactValues
from verify.sweep.points import CELL, Ranges


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The merges of N points, a row and a column each."""

    m: Tensor
    """[N, S] float32."""
    s: Tensor
    """[N, S] float32."""
    o: Tensor
    """[N, S] float32."""
    lengths: Tensor
    """[N] int32."""
    tile_size: int = 1
    """Keys in a tile."""


class Probe(ABC):
    """One probe; a point is an integer, on a map one of 2^cell_bits neighbours, 16 of which make a line."""

    name: str
    """As the command takes it."""
    sentence: str
    """What it feeds to the merge and what must come back, for the report."""
    result: str
    """`output` or `lse`: the result that it judges."""
    ranges: Ranges
    """All points."""
    cell_bits: int = CELL
    """Bits of a point within its cell of the map."""
    rank: int = 1
    """Columns that share a row in one call; above 1 only where m and s are the same for every point."""

    @abstractmethod
    def rows(self, points: Tensor) -> Rows:
        """Return the merges of points [N] that have the same shape, on the points' device."""

    @abstractmethod
    def exact(self, points: Tensor, fmt: Format) -> tuple[ExactValues, Tensor]:
        """Return the exact values [N] of the judged result, and the mask of those left undecided."""

    @abstractmethod
    def subset(self, seed: int, fmt: Format) -> Tensor:
        """Return the points, ascending, that are looked at where not all are, for one output format."""

    def segments(self, point: int) -> int:
        """Return S of the merge of a point."""
        return 1

    def shape(self, points: Tensor) -> Tensor:
        """Return a number for each point that tells apart what one call cannot merge together."""
        return torch.zeros_like(points)

    def line(self, number: int) -> str:
        """Name a line of the map: sixteen cells."""
        exponent = (number & 255) - 127
        sign = "-" if number >> 8 else "+"
        return f"{sign}subnormal" if exponent == -127 else f"{sign}2^{exponent}"

    def case(self, points: Tensor, dtype: str, *, rank: int = 1) -> MergeCase:
        """Return the merge of points [N] as a case [N / rank, 1, S, rank]; rank divides N."""
        rows = self.rows(points)
        return MergeCase(
            segm_output=rows.o.view(-1, rank, rows.o.shape[1]).transpose(1, 2)[:, None].contiguous(),
            segm_max=rows.m[::rank, None].contiguous(),
            segm_expsum=rows.s[::rank, None].contiguous(),
            seq_lens=rows.lengths[::rank].contiguous(),
            tile_size=rows.tile_size,
            out_dtype=dtype,
            domain=Domain.STRESS,
        )


def one_segment(m: Tensor, s: Tensor, o: Tensor) -> Rows:
    """Return rows of one live segment from [N] each."""
    return Rows(m=m[:, None], s=s[:, None], o=o[:, None], lengths=torch.ones_like(m, dtype=torch.int32))
