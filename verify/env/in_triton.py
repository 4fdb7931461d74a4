"""The operations of Triton: in its interpreter on a CPU, compiled on a GPU."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from verify.env import kernels
from verify.env.in_torch import refusal_of
from verify.env.probe import RefusedError

_BLOCK = {"cpu": 1 << 17, "cuda": 1 << 10}  # an interpreted program costs the same whatever its width
_ROWS = 512  # of a reducing program, which is compiled for their number
_PINNED = {"multiply, then subtract, not fused": ("multiply, then subtract", {"enable_fp_fusion": False})}
_ARGUMENTS = "product of arguments"
_ELEMENTWISE = (
    *("copy", "add", "multiply", "divide", "divide, rounded", "multiply, then subtract", "fma"),
    *("exp2", "log2", "log", "maximum", "minimum", "maximum, NaN too", "minimum, NaN too"),
    *("clamp", "clamp, NaN too", "product", "sum", "divide integers", "remainder"),
)
_REDUCING = ("sum of a row", "sum of a column", "largest of a row")


class TritonEngine:
    """Launches the kernels of this package, on a CPU under TRITON_INTERPRET=1 alone."""

    name = "triton"
    operations = frozenset((*_ELEMENTWISE, *_REDUCING, *_PINNED, _ARGUMENTS))

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)

    def compute(self, operation: str, *operands: Tensor, into: torch.dtype | None = None) -> Tensor:
        """Return one result for each element of the operands [N], on the CPU; raises RefusedError."""
        there = [x.to(self._device).contiguous() for x in operands]
        a, b, c = (*there, *there[:1] * 2)[:3]
        # A marker, since what is not written must not look like an answer.
        out = torch.full(a.shape, 113, dtype=torch.uint8).to(into or a.dtype).to(self._device)
        with _launch(self._device):
            if operation == _ARGUMENTS:
                for place in range(len(a)):
                    kernels.product_of_arguments[(1,)](out[place:], int(a[place]), int(b[place]))
            else:
                name, options = _PINNED.get(operation, (operation, {}))
                block = _BLOCK[self._device.type]
                grid = (triton.cdiv(len(a), block),)
                kernels.elementwise[grid](a, b, c, out, len(a), OP=name, BLOCK=block, **options)
            return out.cpu()

    def reduce(self, operation: str, rows: Tensor) -> Tensor:
        """Return one result [K] for each row of rows [K, N], on the CPU; raises RefusedError."""
        parts: list[Any] = []
        for part in rows.to(self._device).contiguous().split(_ROWS):
            out = torch.full((len(part),), 113, dtype=part.dtype, device=self._device)
            with _launch(self._device):
                kernels.reduce_rows[(1,)](part, out, OP=operation, ROWS=len(part), N=part.shape[1])
                parts.append(out.cpu())
        return torch.cat(parts)


@contextmanager
def _launch(device: torch.device) -> Iterator[None]:
    """Let a kernel compute what it likes; RefusedError where it does not compile or run."""
    there = torch.cuda.device_of(torch.empty(0, device=device))
    with there, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Triton is about to change a default: the answer tells it
        try:
            yield
        except Exception as error:  # compilers raise whatever they like
            raise RefusedError(refusal_of(error.__cause__ or error)) from None
