"""How a kernel's author says what it supports; imports nothing, so that a kernel may import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Merge = TypeVar("Merge", bound=Callable[..., Any])

ATTRIBUTE = "mla_verify"
"""Name of the attribute that a declared kernel bears."""


def supports(**declared: object) -> Callable[[Merge], Merge]:
    """Declare what a kernel supports and promises; whatever is not named, it supports.

    S, R, H, T and tile are sets of whole numbers such as "1..128", "8,16,32", "pow2 8..128" or "odd 1..9";
    dtypes and devices names such as "bfloat16,float16" and "cuda"; strides "any" or "contiguous"; laws "all",
    "none" or names; exact says that the exact algebra holds bit by bit. They are looked at when the kernel
    is loaded. The same may stand in a TOML file beside the kernel's, in a table [mla-verify.FUNCTION].
    """

    def mark(merge: Merge) -> Merge:
        setattr(merge, ATTRIBUTE, declared)
        return merge

    return mark
