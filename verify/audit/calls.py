"""The calls whose launches are compiled, and the arguments of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fuzz.case import Domain, MergeCase
from fuzz.production import RANK, Shape

ORDINARY = Shape(tokens=24, heads=96, segments=128, active=7)
"""The ordinary shape of production: many segments, few of them active."""
AUDITED = (
    *(Shape(tokens=1, heads=16, segments=64, active=64), Shape(tokens=8, heads=16, segments=32, active=32)),
    *(Shape(tokens=32, heads=16, segments=16, active=16), ORDINARY),
    *(Shape(tokens=64, heads=128, segments=64, active=7), Shape(tokens=1000, heads=96, segments=8, active=5)),
)
"""A few of the shapes of production, with every S and from few rows to many."""
_TILE = 64


@dataclass(frozen=True, kw_only=True)
class Call:
    """Shape, format and layout of one merge; of the values nothing matters, as nothing is computed."""

    tokens: int
    heads: int
    segments: int
    active: int
    """Segments that are written, of every token."""
    rank: int = RANK
    dtype: str
    """Of the output."""
    aligned: bool = True
    """Whether R is contiguous; otherwise every second column of a wider tensor is taken."""

    def __str__(self) -> str:
        """Say it in a few characters."""
        shape = f"T={self.tokens} H={self.heads} S={self.segments} active={self.active} R={self.rank}"
        return f"{shape} {self.dtype}{'' if self.aligned else ' strided'}"


def production_calls(shapes: Sequence[Shape], dtypes: Sequence[str]) -> tuple[Call, ...]:
    """Return every shape in one format, and every other format at one shape.

    The format is bfloat16, production's own, where it is asked for; the shape, the ordinary one. What a
    kernel compiles depends on both, but hardly on how they are combined.
    """
    first = "bfloat16" if "bfloat16" in dtypes else dtypes[0]
    ordinary = ORDINARY if ORDINARY in shapes else shapes[0]
    wanted = [(shape, first) for shape in shapes]
    wanted += [(ordinary, dtype) for dtype in dtypes if dtype != first]
    return tuple(
        Call(tokens=s.tokens, heads=s.heads, segments=s.segments, active=s.active, dtype=dtype)
        for s, dtype in wanted
    )


def case_of(call: Call) -> MergeCase:
    """Return arguments of that form; the partials are memory that nobody touched, so they cost none."""
    statistics = (call.tokens, call.heads, call.segments)
    step = 1 if call.aligned else 2
    partials = torch.empty((*statistics, call.rank * step))[..., ::step]
    return MergeCase(
        segm_output=partials,
        segm_max=torch.zeros(statistics),
        segm_expsum=torch.ones(statistics),
        seq_lens=torch.full((call.tokens,), call.active * _TILE, dtype=torch.int32),
        tile_size=_TILE,
        out_dtype=call.dtype,
        domain=Domain.PRODUCER,
    )
