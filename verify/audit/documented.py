"""What the makers document of an instruction or a function: its error, what it does to subnormals and NaN.

The tables are `nvidia.py` and `amd.py`. The error is the largest, in ulp of the result, over all arguments;
0.5 is a correct rounding, infinity says that the document gives no such bound: an absolute error, one within
a range, or none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The classes that are counted."""

    TRANSCENDENTAL = "transcendental"
    DIVISION = "division"
    """Reciprocals and roots too."""
    CONVERSION = "conversion"
    CLAMP = "clamp"
    """Minimum, maximum and saturation."""
    ARITHMETIC = "arithmetic"


class Paid(StrEnum):
    """The number of the bounds for float32 that pays for an error of more than half an ulp."""

    EXP2 = "exp2"
    LOG2 = "log2"
    DIVISION = "division"


@dataclass(frozen=True, kw_only=True)
class Documented:
    """One line of a table."""

    pattern: str
    """Regular expression of the whole opcode; of `name bits` for a function, as in `log 64`."""
    kind: Kind
    bits: int
    """Of the significand that it rounds to within a computation; 0 for what is exact or ends one."""
    ulp: float
    """Largest error; 0 for what is exact."""
    paid: Paid | None = None
    """What pays for it, where it is above 0.5."""
    flushes: bool = False
    """Whether it takes subnormals for 0 whatever its modifiers and the processor's mode say."""
    note: str = ""
    """What else the source says, in a few words."""
    source: str
    """Title of the document."""

    def matches(self, name: str) -> bool:
        """Tell whether it speaks of an opcode or a function."""
        return re.fullmatch(self.pattern, name) is not None


@dataclass(frozen=True, kw_only=True)
class Table:
    """What is documented of one maker's processors."""

    floating: re.Pattern[str]
    """Opcodes that compute with floating-point numbers: each must be in the table."""
    instructions: tuple[Documented, ...]
    """The first line that matches speaks."""
    functions: tuple[Documented, ...]
    """What a library computes with those, by its documented error."""
    flush: str
    """How it is told whether an instruction flushes subnormals."""

    def instruction(self, opcode: str) -> Documented | None:
        """Return the line of an opcode; None where there is none."""
        return next((line for line in self.instructions if line.matches(opcode)), None)

    def function(self, name: str) -> Documented | None:
        """Return the line of a function; None where there is none."""
        return next((line for line in self.functions if line.matches(name)), None)

    def is_floating(self, opcode: str) -> bool:
        """Tell whether an instruction computes with floating-point numbers."""
        return self.floating.match(opcode) is not None
