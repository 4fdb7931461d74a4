"""What a kernel asks for in Triton's own intermediate form, before a backend chooses how to compute it.

A library's logarithm is a sequence of ordinary instructions, each of them exact to half an ulp, in assembly.
Only here it can be seen that it is one, and that it has a documented error.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath

from verify.audit.instructions import NO_LINE

# One instruction, or exact: the assembly tells.
_PLAIN = ("floor", "ceil", "absf", "fma", "copysign", "trunc", "round", "roundeven", "absi", "sqrt", "rsqrt")
# Functions of Triton that are an instruction on every backend.
_ONE_INSTRUCTION = {("exp", 32), ("exp2", 32)}
_OPERATION = re.compile(r"= math\.(\w+) .*: (?:tensor<[\dx]*)?f(\d+)>?.* loc\((#loc\d*|unknown)\)")
_EXTERN = re.compile(
    r'tt\.extern_elementwise .*symbol = "(\w+)".*-> (?:tensor<[\dx]*)?f(\d+)>?.* loc\((#loc\d*)\)'
)
_PLACE = re.compile(r'^(#loc\d*) = loc\("([^"]*)":(\d+):\d+')
_OTHER = re.compile(r"^(#loc\d*) = loc\((?:callsite\((#loc\d*) at (#loc\d*)\)|\"[^\"]*\"\((#loc\d*)\))")


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of floating-point numbers that a kernel calls."""

    name: str
    """As Triton writes it, `log`; or a library's symbol."""
    bits: int
    """Of its type: 32 or 64."""
    place: str
    """`file.py:line`."""

    @property
    def label(self) -> str:
        """Its name in the tables."""
        return f"{self.name} {self.bits}"


def functions_of(form: str) -> Counter[Function]:
    """Count the functions that a kernel calls, those that are a single instruction apart."""
    places = _Places(form)
    found: Counter[Function] = Counter()
    for line in form.splitlines():
        for pattern in (_OPERATION, _EXTERN):
            if match := pattern.search(line):
                name, bits, location = match.groups()
                if name not in _PLAIN and (name, int(bits)) not in _ONE_INSTRUCTION:
                    found[Function(name=name, bits=int(bits), place=places.of(location))] += 1
    return found


class _Places:
    """The locations at the head of the text, each of a file or by way of others."""

    def __init__(self, form: str) -> None:
        self._files: dict[str, str] = {}
        self._ways: dict[str, tuple[str, ...]] = {}
        for line in form.splitlines():
            if match := _PLACE.match(line):
                name, file, number = match.groups()
                path = PurePosixPath(file)
                if path.parts[-3:-1] != ("triton", "language"):
                    self._files[name] = f"{path.name}:{number}"
            elif match := _OTHER.match(line):
                name, *ways = match.groups()
                self._ways[name] = tuple(way for way in ways if way)

    def of(self, name: str) -> str:
        """Return the innermost place that is not Triton's own."""
        if name in self._files:
            return self._files[name]
        found = (self.of(way) for way in self._ways.get(name, ()))
        return next((place for place in found if place != NO_LINE), NO_LINE)
