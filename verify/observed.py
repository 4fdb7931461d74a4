"""What a call of a merge kernel gave: results to be judged, and faults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from torch import Tensor


class FaultKind(StrEnum):
    """The kinds of finding, as reports name them."""

    WRONG_VALUE = "WRONG_VALUE"
    WRONG_LSE = "WRONG_LSE"
    SPURIOUS_NAN = "SPURIOUS_NAN"
    SPURIOUS_INF = "SPURIOUS_INF"
    LOST_NAN = "LOST_NAN"
    UNWRITTEN_OUTPUT = "UNWRITTEN_OUTPUT"
    TOUCHED_PADDING = "TOUCHED_PADDING"
    TOUCHED_INPUT = "TOUCHED_INPUT"
    WRONG_SHAPE_OR_DTYPE = "WRONG_SHAPE_OR_DTYPE"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    COMPILE_ERROR = "COMPILE_ERROR"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    BROKEN_LAW = "BROKEN_LAW"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of one call, with its worst place where it has one."""

    kind: FaultKind
    detector: str
    """What noticed it: oracle, marker, guard band, input copy, signature, isolation."""
    message: str
    """One sentence for people."""
    result: str = ""
    """`output` or `lse`; empty when the fault is of the whole call."""
    where: tuple[int, ...] | None = None
    """(token, head, column) of the worst output, (token, head) of the worst lse."""
    got: float | None = None
    """Value returned there (exact in float64 for every format)."""
    exact: float | None = None
    """Correctly rounded value there."""
    ulp: float | None = None
    """Signed error there, in ulp of the target format."""
    steps: int | None = None
    """Distance from the correctly rounded value, in representable numbers."""
    bound: float | None = None
    """Bound on |error| there, in ulp."""
    count: int = 1
    """How many values of this call show the same kind of fault."""
    cause: str = ""
    """What tells faults of one kind apart: the exception and where it was raised."""
    code: int | None = None
    """The bits returned there."""
    diagnosis: str = ""
    """`consistent with …`, where somebody asked and a hypothesis explains every value; else empty."""
    lost_process: bool = False
    """Whether the worker process was lost with the call."""

    @property
    def alike(self) -> tuple[str, str, str]:
        """What two showings of the same fault have in common."""
        return (self.kind.value, self.result, self.cause)

    @property
    def severity(self) -> float:
        """Size of the error for a shrinker to preserve: |ulp|, infinite where it is not arithmetic."""
        return abs(self.ulp) if self.ulp is not None else float("inf")


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What a call returned, ready to be judged."""

    output: Tensor
    """[T, H, R] in the case's dtype."""
    lse: Tensor
    """[T, H] float32."""
    unwritten_output: Tensor
    """[T, H, R] bool: the value still is the marker that its allocation was filled with."""
    unwritten_lse: Tensor
    """[T, H] bool likewise."""


def decimal(value: float) -> str:
    """Write the shortest decimal that reads back to the same float32; all values here are float32's."""
    return str(np.float32(value))


def place_of_largest(sizes: Tensor) -> tuple[int, ...]:
    """Return the index of the largest element, the first of several, along each axis."""
    # torch's own unravel_index imports sympy, which takes half a second.
    return tuple(int(index) for index in np.unravel_index(int(sizes.argmax()), sizes.shape))
