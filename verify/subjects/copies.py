"""Copies of a kernel's inputs with their strides and what lies between, and whether one was written to."""

from __future__ import annotations

from typing import Any

import torch


def copies_of(given: dict[str, Any]) -> dict[str, Any]:
    """Copy whole storages, so that every tensor keeps its strides, its offset and what lies between."""
    return {
        name: _copied(value) if isinstance(value, torch.Tensor) else value for name, value in given.items()
    }


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (elements,), (1,), 0).clone()
    return torch.as_strided(flat, tensor.size(), tensor.stride(), tensor.storage_offset())


def is_unchanged(now: torch.Tensor, then: torch.Tensor) -> bool:
    """Tell whether a tensor has the size, the strides and the whole storage that it had, bit for bit."""
    if (now.size(), now.stride()) != (then.size(), then.stride()):
        return False
    size = then.untyped_storage().nbytes() // then.element_size() * then.element_size()
    return torch.equal(_storage_bytes(now)[:size], _storage_bytes(then)[:size])


def _storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    # The whole storage, so that a write between the strides of an input shows as well.
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
