"""A kernel in somebody else's process: what it takes there is put back, what it cannot have is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from verify.campaign.trial import flushes_subnormals

_VARIABLE = "TRITON_INTERPRET"


@contextmanager
def visiting(device: str) -> Iterator[bool]:
    """Make this process one in which a kernel runs on the device, and put back what that changes.

    Gives whether the process flushes subnormal numbers to zero, which is over while a result is judged.
    """
    variable = os.environ.get(_VARIABLE)
    threads, flushing, warned = torch.get_num_threads(), flushes_subnormals(), np.geterr()
    compiler: Any = sys.modules.get("triton.compiler")
    compile_ = getattr(compiler, "compile", None)
    current = torch.cuda.current_device() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    _set("1" if device.startswith("cpu") else None)
    torch.set_flush_denormal(False)
    np.seterr(all="ignore")  # NaN and overflow are what many cases are about
    try:
        yield flushing
    finally:
        _set(variable)
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushing)
        np.seterr(**warned)
        if compile_ is not None:
            compiler.compile = compile_
        if current is not None:
            torch.cuda.set_device(current)


def _set(variable: str | None) -> None:
    if variable is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = variable


def imported_mode() -> str | None:
    """Return `interpret` or `device`, as Triton was imported in this process; None where it was not.

    The functions of Triton's own library are compiled or interpreted as the environment said at that time,
    and the kernels that call them have to be of the same kind.
    """
    function = getattr(sys.modules.get("triton.language.standard"), "cdiv", None)
    if function is None:
        return None
    return "interpret" if type(function).__name__ == "InterpretedFunction" else "device"


def mode_note(device: str) -> str:
    """Return one line if Triton was imported in another mode than the device needs, else nothing."""
    came, wanted = imported_mode(), "interpret" if device.startswith("cpu") else "device"
    if came in (None, wanted):
        return ""
    set_to = "set it to 1" if wanted == "interpret" else "take it away"
    return (
        f"Triton was imported in mode {came} before this, and a kernel on {device} needs mode {wanted}: "
        f"{_VARIABLE} decides when Triton is imported, so {set_to} before this process starts"
    )
