"""What the oracle knows of a target format, and what it says of one value."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Protocol


class TargetFormat(Protocol):
    """A binary floating-point format as plain data; any object with these attributes will do."""

    @property
    def precision(self) -> int:
        """Significand bits, the hidden one included."""

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number, 2^emin."""

    @property
    def emax(self) -> int:
        """Exponent of the largest finite number."""

    @property
    def max_value(self) -> float:
        """Largest finite value."""

    @property
    def saturates(self) -> bool:
        """Whether overflow gives ±max_value instead of ±inf."""


class Base(Enum):
    """The base of a power or of a logarithm."""

    TWO = "2"
    """m is in octaves, a weight is 2^m; an lse is log2 of the mass."""
    E = "e"
    """m is natural, a weight is e^m; an lse is ln of the mass."""


class Kind(IntEnum):
    """What sort of thing an exact result is."""

    NUMBER = 0
    NAN = 1
    INFINITE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """The exact value of one result, relative to a target format."""

    kind: Kind
    """NUMBER, NAN, or INFINITE: infinite in exact arithmetic (and the format does not saturate)."""
    rounded: float
    """The correctly rounded value: ±inf on IEEE overflow, ±max_value on saturation."""
    residual: float
    """(exact − rounded) / ulp(exact), to within 2^-12; exact is clamped first, as the metric says."""
    exponent: int
    """max(e, emin) with 2^e ≤ |exact| < 2^(e+1); emin for zero, NaN and infinities."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Enclosure:
    """A proved statement: the exact value lies in [lo, hi] · 2^exponent."""

    lo: int
    """Lower end, in units of 2^exponent."""
    hi: int
    """Upper end, in units of 2^exponent."""
    exponent: int
    """Exponent of the unit; it may be as large as ±3.4e38."""
    bits: int
    """Working precision that proved it."""
