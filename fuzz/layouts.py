"""Memory layouts: the same values behind other strides and offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import torch

_Layout = Callable[[torch.Tensor], torch.Tensor]


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous()


def _permuted(*order: int) -> _Layout:
    """Store the dimensions in another order; `order` is for four of them, fewer drop the missing ones."""

    def lay(tensor: torch.Tensor) -> torch.Tensor:
        axes = [axis for axis in order if axis < tensor.ndim]
        back = [axes.index(axis) for axis in range(tensor.ndim)]
        return tensor.permute(axes).contiguous().permute(back)

    return lay


def _buffer(tensor: torch.Tensor, extents: list[int]) -> torch.Tensor:
    """Return a larger buffer full of NaN, or of a length that no row has, where the view must not look."""
    filler = torch.nan if tensor.dtype == torch.float32 else 999_999_999
    return torch.full(extents, filler, dtype=tensor.dtype)


def _sliced(tensor: torch.Tensor) -> torch.Tensor:
    """Take every other element of the last two dimensions of a buffer."""
    kept = max(0, tensor.ndim - 2)
    buffer = _buffer(tensor, [*tensor.shape[:kept], *(2 * extent for extent in tensor.shape[kept:])])
    view = buffer[..., ::2] if tensor.ndim == 1 else buffer[..., ::2, ::2]
    view.copy_(tensor)
    return view


def _padded(tensor: torch.Tensor) -> torch.Tensor:
    buffer = _buffer(tensor, [*tensor.shape[:-1], tensor.shape[-1] + 3])
    view = buffer[..., : tensor.shape[-1]]
    view.copy_(tensor)
    return view


def _offset(tensor: torch.Tensor) -> torch.Tensor:
    buffer = _buffer(tensor, [tensor.numel() + 5])
    view = buffer[3 : 3 + tensor.numel()].reshape(tensor.shape)
    view.copy_(tensor)
    return view


def _expanded(axis: int) -> _Layout:
    """Keep one slice of a dimension and repeat it by a stride of 0; all slices must hold the same bits."""

    def lay(tensor: torch.Tensor) -> torch.Tensor:
        if axis >= tensor.ndim or tensor.shape[axis] == 0:
            return tensor.contiguous()
        first = tensor.narrow(axis, 0, 1).contiguous()
        view = first.expand(tensor.shape)
        pattern = torch.int32 if tensor.dtype == torch.float32 else tensor.dtype
        if not torch.equal(view.contiguous().view(pattern), tensor.contiguous().view(pattern)):
            raise ValueError(f"values differ along dimension {axis}, which the layout says is expanded")
        return view

    return lay


LAYOUTS: Final[Mapping[str, _Layout]] = {
    "contiguous": _contiguous,
    "segment_major": _permuted(2, 0, 1, 3),
    "head_major": _permuted(1, 0, 2, 3),
    "rank_major": _permuted(3, 0, 1, 2),
    "reversed": _permuted(3, 2, 1, 0),
    "sliced": _sliced,
    "padded": _padded,
    "offset": _offset,
    "expanded_tokens": _expanded(0),
    "expanded_heads": _expanded(1),
    "expanded_segments": _expanded(2),
    "expanded_rank": _expanded(3),
}
"""Each layout by name: from a tensor [T, H, S, R], [T, H, S] or [T] to one of equal values."""


def laid_out(name: str, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the tensors in a layout; ValueError for an unknown name or values it cannot hold."""
    if name not in LAYOUTS:
        raise ValueError(f"layout is {name!r}, one of {', '.join(LAYOUTS)} is wanted")
    return tuple(LAYOUTS[name](tensor) for tensor in tensors)
