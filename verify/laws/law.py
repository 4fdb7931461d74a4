"""What a law is, what it is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fuzz.case import MergeCase
from verify.bounds import Bounds
from verify.observed import Fault, Returned


class Called(Protocol):
    """What came back from one call of the kernel under test."""

    @property
    def returned(self) -> Returned | None:
        """The results; None when nothing that could be compared came back."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of the call itself."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One case, what a kernel returned for it, and the means to run that kernel on changed ones."""

    case: MergeCase
    """The case; nothing here writes to it."""
    returned: Returned
    """What the kernel returned for it."""
    bounds: Bounds
    """By what its values are judged."""
    exact: bool
    """Whether the kernel promises the exact algebra bit by bit, and not just within its bounds."""
    seed: int
    """Decides every choice of a variant."""
    call: Callable[[MergeCase], Called]
    """Runs the kernel, guarded and on copies; no results and no faults mean that it refuses such a case."""
    into: Callable[[MergeCase], Called] | None = None
    """The same for a kernel that can be handed its outputs; None for one that cannot."""
    faults: tuple[Fault, ...] = ()
    """Faults of the call under trial; a variant that shows one of them again says nothing new."""
    name: str = "the case itself"
    """What messages call the case."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a law found."""

    rows: int
    """Rows of the case on which it spoke; none when no row met its conditions."""
    faults: tuple[Fault, ...]
    """At most one of its own per result, and those of the variants' calls."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """Something that results of two calls, or results and inputs, must have to do with each other."""

    name: str
    """Name, which is its module's under verify/laws/; a detector is called `law NAME`."""
    promise: str
    """What holds for a right kernel, in one sentence."""
    check: Callable[[Trial], Checked]
    """Looks for a breach, in at most four calls."""
