"""float32 numbers by their bit patterns: as text, and moved along the order of their values."""

from __future__ import annotations

from typing import Final

import torch

LARGEST: Final = 0x7F7FFFFF
"""Magnitude code of the largest finite float32; the infinity's is the next."""

_MAGNITUDE: Final = 0x7FFFFFFF


def text_of(values: torch.Tensor) -> str:
    """Return the bits of float32 values [N] in hexadecimal, eight digits a value."""
    codes = values.detach().to("cpu", copy=True).contiguous().view(torch.int32).tolist()
    return "".join(f"{code & 0xFFFFFFFF:08x}" for code in codes)


def values_of(text: str) -> torch.Tensor:
    """Return the float32 values [N] of a text of eight hexadecimal digits a value."""
    codes = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    signed = [code - (1 << 32) if code >> 31 else code for code in codes]
    return torch.tensor(signed, dtype=torch.int32).view(torch.float32)


def stepped(values: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Return the float32 values so many steps further from zero (nearer for negative ones), signs kept.

    The steps are int32 within ±2^22; zero and the largest finite value are the ends, and what is not finite
    stays as it is.
    """
    codes = values.view(torch.int32)
    magnitude = codes & _MAGNITUDE
    moved = (magnitude + steps).clamp(0, LARGEST) | (codes & ~_MAGNITUDE)
    return torch.where(magnitude > LARGEST, codes, moved).view(torch.float32)


def flipped(values: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
    """Return the float32 values with one bit changed, 0 (the lowest) … 31 (the sign)."""
    mask = torch.ones_like(bit, dtype=torch.int32) << bit.to(torch.int32)
    return (values.view(torch.int32) ^ mask).view(torch.float32)
