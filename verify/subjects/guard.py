"""Allocations that notice: filled with a marker NaN and fenced by guard bands.

A kernel allocates its own results, mostly with torch.empty. While `GuardedAllocations` is active, such a
tensor is cut out of a larger buffer that holds a marker everywhere. A value never written still shows the
marker, and a write beyond the result changes the band around it. The kernel needs no change for this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# NaNs that no arithmetic produces: an unlikely payload, or the sign, as bits of the integer view.
MARKERS: dict[torch.dtype, tuple[torch.dtype, int]] = {
    torch.float64: (torch.int64, 0x7FFD_A5A5_A5A5_A5A5),
    torch.float32: (torch.int32, 0x7FE5_A5A5),
    torch.float16: (torch.int16, 0x7EA5),
    torch.bfloat16: (torch.int16, 0x7FE5),
    torch.float8_e4m3fn: (torch.uint8, 0xFF),
    torch.float8_e5m2: (torch.uint8, 0xFD),
    torch.float8_e4m3fnuz: (torch.uint8, 0x80),
    torch.float8_e5m2fnuz: (torch.uint8, 0x80),
}

# The fnuz formats have a single NaN. As a marker it still is a wrong value wherever a number belongs, but
# nobody can tell whether it was left or written there.
_AMBIGUOUS = (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)

_BAND = 256  # elements before and after; a multiple of 16 bytes, so that alignment stays what it was

_ALLOCATORS = (
    torch.ops.aten.empty,
    torch.ops.aten.empty_like,
    torch.ops.aten.empty_strided,
    torch.ops.aten.new_empty,
    torch.ops.aten.new_empty_strided,
)


class GuardedAllocations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hand out marked and fenced tensors for torch.empty and its relatives."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._buffers: list[tuple[torch.Tensor, int]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator; replace what an allocator returned."""
        made = func(*args, **(kwargs or {}))
        if func.overloadpacket in _ALLOCATORS and made.dtype in MARKERS and made.numel():
            return self._fenced(made)
        return made

    def _fenced(self, made: torch.Tensor) -> torch.Tensor:
        view, marker = MARKERS[made.dtype]
        extent = 1 + sum((size - 1) * stride for size, stride in zip(made.shape, made.stride(), strict=True))
        buffer = torch.full((extent + 2 * _BAND,), marker, dtype=view, device=made.device)
        self._buffers.append((buffer, marker))
        return buffer.view(made.dtype).as_strided(made.shape, made.stride(), _BAND)

    def touched(self) -> bool:
        """Tell whether any band around any allocation was written."""
        return any(
            bool((buffer[:_BAND] != marker).any() or (buffer[-_BAND:] != marker).any())
            for buffer, marker in self._buffers
        )


def is_marker(values: torch.Tensor) -> torch.Tensor:
    """Return the mask of values that are known never to have been written: the marker, bit for bit."""
    if values.dtype in _AMBIGUOUS:
        return torch.zeros(values.shape, dtype=torch.bool, device=values.device)
    view, marker = MARKERS[values.dtype]
    return values.contiguous().view(view) == marker
