"""What an input of the merge is: the arguments of one call, and where they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import torch

from fuzz.formats import FORMATS
from fuzz.partition import MAX_TILE, active_of

if TYPE_CHECKING:
    from fuzz.recipe import Recipe


class Domain(StrEnum):
    """Which inputs a verdict speaks of; the two are reported apart."""

    PRODUCER = "producer"
    """What an attention kernel can really emit."""
    STRESS = "stress"
    """Any bit pattern."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MergeCase:
    """The arguments of one merge; ValueError when they do not fit together."""

    segm_output: torch.Tensor
    """o [T, H, S, R] float32: un-normalised weighted sum of values of each segment."""
    segm_max: torch.Tensor
    """m [T, H, S] float32: running maximum of the scores, base 2."""
    segm_expsum: torch.Tensor
    """s [T, H, S] float32: sum of 2^(score − m)."""
    seq_lens: torch.Tensor
    """L [T] int32 or int64: keys visible to each token."""
    tile_size: int
    """Keys in one tile of the producer, 1 … 2^31 − 1."""
    out_dtype: str
    """Name of the output format, a key of FORMATS."""
    domain: Domain
    """The input domain that the values belong to."""
    layout: str = "contiguous"
    """Name of the memory layout of the tensors, a key of LAYOUTS in fuzz/layouts.py."""
    recipe: Recipe | None = None
    """What the case was expanded from; None for one written by hand or reduced from another."""

    def __post_init__(self) -> None:
        if self.segm_output.ndim != 4:
            raise ValueError(f"segm_output has shape {list(self.segm_output.shape)}, [T, H, S, R] is wanted")
        t, h, s, _ = self.segm_output.shape
        wanted = {"segm_max": (t, h, s), "segm_expsum": (t, h, s), "seq_lens": (t,)}
        for name, shape in wanted.items():
            came = tuple(getattr(self, name).shape)
            if came != shape:
                raise ValueError(f"{name} has shape {list(came)}, {list(shape)} is wanted")
        for name in ("segm_output", "segm_max", "segm_expsum"):
            if getattr(self, name).dtype != torch.float32:
                raise ValueError(f"{name} is {getattr(self, name).dtype}, torch.float32 is wanted")
        if self.seq_lens.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"seq_lens is {self.seq_lens.dtype}, torch.int32 or torch.int64 is wanted")
        if min(self.S, self.R) < 1:
            raise ValueError(f"segm_output has S = {self.S} and R = {self.R}, each must be at least 1")
        if not 1 <= self.tile_size <= MAX_TILE:
            raise ValueError(f"tile_size is {self.tile_size}, 1 … {MAX_TILE} is wanted")
        if self.out_dtype not in FORMATS:
            raise ValueError(f"out_dtype is {self.out_dtype!r}, one of {', '.join(FORMATS)} is wanted")

    @property
    def T(self) -> int:  # noqa: N802
        """Tokens."""
        return self.segm_output.shape[0]

    @property
    def H(self) -> int:  # noqa: N802
        """Heads."""
        return self.segm_output.shape[1]

    @property
    def S(self) -> int:  # noqa: N802
        """Segments."""
        return self.segm_output.shape[2]

    @property
    def R(self) -> int:  # noqa: N802
        """Rank."""
        return self.segm_output.shape[3]

    @property
    def outputs(self) -> int:
        """Number of elements of the output, T · H · R."""
        return self.T * self.H * self.R

    @property
    def active(self) -> torch.Tensor:
        """Active segments of each token, [T] int64, on the case's device."""
        return active_of(self.seq_lens, self.S, self.tile_size)

    def to(self, device: str | torch.device) -> MergeCase:
        """Return the case on another device, each tensor with the strides and offset that it has here."""
        return self._map(lambda tensor: _moved(tensor, torch.device(device)))

    def contiguous(self) -> MergeCase:
        """Return a copy of the case whose tensors are contiguous and share no memory with this one."""
        case = self._map(lambda tensor: tensor.clone(memory_format=torch.contiguous_format))
        return replace(case, layout="contiguous")

    def _map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> MergeCase:
        return replace(
            self,
            segm_output=change(self.segm_output),
            segm_max=change(self.segm_max),
            segm_expsum=change(self.segm_expsum),
            seq_lens=change(self.seq_lens),
        )


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Move the whole storage and view it as before: a plain `.to` would make many layouts dense."""
    size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (elements,), (1,), 0).to(device)
    return torch.as_strided(flat, size, stride, offset)
