"""Allocations that notice: filled with a marker and fenced by guard bands.

A kernel allocates its own results, mostly with torch.empty. While `GuardedAllocations` is active, such a
tensor is cut out of a larger buffer that holds a marker everywhere. A value never written still shows the
marker, and a write beyond the result changes the band around it. What is allocated with contents, as by
torch.zeros, keeps them and is fenced. The kernel needs no change for this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# NaNs that no arithmetic produces, by an unlikely payload, as bits of the integer view of that width. The
# integer dtypes are there because a result may be allocated as one and viewed as a float.
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MARKERS = {1: 0x7D, 2: 0x7FE5, 4: 0x7FE5_A5A5, 8: 0x7FFD_A5A5_A5A5_A5A5}

# These have one NaN, or two that differ in the sign, which arithmetic does produce.
_FEW_NANS = {torch.float8_e4m3fn: 0x7F, torch.float8_e4m3fnuz: 0x80, torch.float8_e5m2fnuz: 0x80}

# Another filling: what shows it in its turn was never written. Another payload, and of eight bits a number:
# not all of those formats have another NaN.
_SECOND = {1: 0x01, **{width: marker ^ 2 for width, marker in _MARKERS.items() if width > 1}}

# Elements before and after: as many as a block of columns can be too wide, so that a store without a mask
# stays inside and is noticed. A multiple of 16 bytes, so that alignment stays what it was.
_BAND = 1024

_EMPTY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
_FILLED = ("zeros", "ones", "full", *(f"{name}_like" for name in ("zeros", "ones", "full")))
_FILLED += ("new_zeros", "new_ones", "new_full")
_ALLOCATORS = {getattr(torch.ops.aten, name): name in _EMPTY for name in (*_EMPTY, *_FILLED)}


class GuardedAllocations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hand out marked and fenced tensors for torch.empty and its relatives; `second` fills differently."""

    def __init__(self, *, second: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._second = second
        self._fences: list[tuple[torch.Tensor, torch.Tensor, int]] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Tell torch.compile that what runs below is what the user compiled, and not to skip it."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator; replace what an allocator returned."""
        made = func(*args, **(kwargs or {}))
        empty = _ALLOCATORS.get(func.overloadpacket)
        fits = empty is not None and made.layout == torch.strided and made.numel()
        if not fits or made.dtype.is_complex or made.dtype == torch.bool or "out" in (kwargs or {}):
            return made
        fenced = self._fenced(made)
        return fenced if empty else fenced.copy_(made)

    def _fenced(self, made: torch.Tensor) -> torch.Tensor:
        marker = _SECOND[made.element_size()] if self._second else _marker(made.dtype)
        extent = 1 + sum((size - 1) * stride for size, stride in zip(made.shape, made.stride(), strict=True))
        view = _INTEGERS[made.element_size()]
        buffer = torch.full((extent + 2 * _BAND,), marker, dtype=view, device=made.device)
        inside = buffer.as_strided(made.shape, made.stride(), _BAND)
        self._fences.append((buffer, inside, marker))
        return inside.view(made.dtype)

    def touched(self) -> bool:
        """Tell whether a band around any allocation was written, or a gap between its strides."""
        return any(_crossed(*fence) for fence in self._fences)


def _crossed(buffer: torch.Tensor, inside: torch.Tensor, marker: int) -> bool:
    if bool((buffer[:_BAND] != marker).any() or (buffer[-_BAND:] != marker).any()):
        return True
    if inside.is_contiguous():
        return False
    changed = buffer != marker
    # Seen through a mask laid out alike: what the allocation itself holds may be anything.
    changed.as_strided(inside.shape, inside.stride(), _BAND).fill_(False)
    return bool(changed.any())


def _marker(dtype: torch.dtype) -> int:
    return _FEW_NANS.get(dtype, _MARKERS[dtype.itemsize])


def is_marker(values: torch.Tensor) -> torch.Tensor:
    """Return the mask of values that are the marker bit for bit, of their own dtype or of the integer one."""
    codes = values.contiguous().view(_INTEGERS[values.element_size()])
    return (codes == _marker(values.dtype)) | (codes == _MARKERS[values.element_size()])


def is_telling(dtype: torch.dtype) -> bool:
    """Tell whether arithmetic never makes a marker of this dtype, unless it is given one; else fill again."""
    return dtype not in _FEW_NANS


def is_second(values: torch.Tensor) -> torch.Tensor:
    """Return the mask of values that are the second filling bit for bit."""
    width = values.element_size()
    return values.contiguous().view(_INTEGERS[width]) == _SECOND[width]
