"""What every sort of bounds has: a first term in ulp, and a second term for each value of a case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from torch import Tensor

from fuzz.case import MergeCase
from verify.oracle.target import Base


@dataclass(frozen=True, kw_only=True)
class SecondTerms:
    """The second term of the bound for every value of a case, absolute (not in ulp)."""

    output: Tensor
    """[T, H, R] float64; +inf where the bounds do not speak of the value."""
    lse: Tensor
    """[T, H] float64, in the unit of the lse: nats unless its base is two; +inf likewise."""
    out_of_domain: dict[str, int] = field(default_factory=dict)
    """Rows with a value that the bounds do not speak of, by reason; a row counts under its first."""


@dataclass(frozen=True, kw_only=True)
class Bounds(ABC):
    """|error| ≤ ulp · ulp(exact) + second term, for every value that the bounds speak of."""

    at_result: ClassVar[bool] = False
    """Whether the first term's ulp is the result's where that is in a higher binade than the exact value.

    Then the question is whether the result is a rounding of anything within the second term.
    """

    name: str
    """What `--bounds` called them."""
    file: str
    """Folder and name of the file."""
    sha256: str
    """Of its bytes."""
    ulp: float
    """First term, in ulp of the target format."""
    base: Base = Base.TWO
    """Of the statistics: a segment weighs base^m. A file says nothing of it; the kernel's convention does."""
    lse_base: Base | None = Base.E
    """Of the lse; None for a kernel that returns none, and then the bounds speak of none."""

    def of(self, base: Base, lse_base: Base | None) -> Self:
        """Return the bounds of a kernel whose statistics and lse have these bases."""
        return replace(self, base=base, lse_base=lse_base)

    @abstractmethod
    def second_terms(self, case: MergeCase) -> SecondTerms:
        """Evaluate the second term for every value; exact to about 1e-7 of itself, which no verdict can feel.

        It is 0 in rows that have no finite answer.
        """
