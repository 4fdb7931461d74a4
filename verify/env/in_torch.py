"""The operations of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from verify.env.probe import RefusedError

_ELEMENTWISE: Mapping[str, Callable[..., Tensor]] = {
    "copy": lambda a: a,
    "add": torch.add,
    "multiply": torch.mul,
    "divide": torch.div,
    "multiply, then subtract": lambda a, b, c: torch.addcmul(-c, a, b),
    "exp2": torch.exp2,
    "log2": torch.log2,
    "log": torch.log,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp": torch.clamp,
    "product": torch.mul,
    "sum": torch.add,
    "divide integers": torch.floor_divide,
    "remainder": torch.remainder,
}
_REDUCING: Mapping[str, Callable[[Tensor], Tensor]] = {
    "sum of a row": lambda rows: rows.sum(1),
    "sum of a column": lambda rows: rows.T.contiguous().sum(0),
    "largest of a row": lambda rows: rows.amax(1),
}


class TorchEngine:
    """Calls torch, eagerly and one operation at a time."""

    name = "torch"
    operations = frozenset((*_ELEMENTWISE, *_REDUCING))

    def __init__(self, device: str) -> None:
        self._device = device

    def compute(self, operation: str, *operands: Tensor, into: torch.dtype | None = None) -> Tensor:
        """Return one result for each element of the operands [N], on the CPU; raises RefusedError."""
        try:
            found = _ELEMENTWISE[operation](*(x.to(self._device) for x in operands))
            return found.to(into or operands[0].dtype).cpu()
        except (RuntimeError, TypeError) as error:  # NotImplementedError is one of the former
            raise RefusedError(refusal_of(error)) from None

    def reduce(self, operation: str, rows: Tensor) -> Tensor:
        """Return one result [K] for each row of rows [K, N], on the CPU; raises RefusedError."""
        try:
            return _REDUCING[operation](rows.to(self._device)).cpu()
        except (RuntimeError, TypeError) as error:
            raise RefusedError(refusal_of(error)) from None


def refusal_of(error: BaseException) -> str:
    """Return the first line of what an error says, with its type."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"
