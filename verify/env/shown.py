"""Single elements of tensors as people look at them: decimal, hexadecimal, bits."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from reports.records import Number
from verify.env.probe import Witness
from verify.observed import decimal

_CODES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def code_of(element: Tensor) -> int:
    """Return the bits of a tensor's only element, of any dtype of at most 64 bits."""
    size = element.element_size()
    return int(element.reshape(1).view(_CODES[size])[0]) & ((1 << 8 * size) - 1)


def number(element: Tensor) -> Number:
    """Return a tensor's only element in the three forms of a report; integers are written as such."""
    bits = f"0x{code_of(element):0{2 * element.element_size()}x}"
    if not element.is_floating_point():
        return Number(dec=str(int(element)), hex=hex(int(element)), bits=bits)
    value = float(element.double())
    dec = repr(value) if element.dtype == torch.float64 else decimal(value)
    return Number(dec=dec, hex=re.sub(r"\.?0*p", "p", value.hex()), bits=bits)


def witness(
    operands: tuple[Tensor, ...], got: Tensor, place: int = 0, right: Tensor | None = None
) -> Witness:
    """Return what stands at one place of operands and results [N]."""
    return Witness(
        operands=tuple(number(x[place]) for x in operands),
        got=number(got[place]),
        right=None if right is None else number(right[place]),
    )
