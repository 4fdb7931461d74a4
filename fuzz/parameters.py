"""What a family may be told beside its shape: small typed parameters, each of which can check a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Value = int | str | bool
"""A parameter's value; JSON holds each as it is."""

_QUOTED: Final = 40
"""Characters of a long text that a message repeats."""

ROTATE: Final = "rotate"
"""The value of a Choice that gives each row of the case another one of the values."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of a few names, the simplest first, since a reduction moves toward the first."""

    values: tuple[str, ...]
    """The names."""
    usual: str | None = None
    """The name that is drawn twice as often as all others together; None: all alike."""

    def problem(self, value: object) -> str | None:
        """Return what is wrong with the value in a few words, or None."""
        if isinstance(value, str) and value in self.values:
            return None
        return f"{value!r} came, {among(value, self.values)}"


@dataclass(frozen=True, kw_only=True)
class Span:
    """An integer of a range."""

    low: int
    """Smallest value, the simplest."""
    high: int
    """Largest value."""

    def problem(self, value: object) -> str | None:
        """Return what is wrong with the value in a few words, or None."""
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
            return None
        return f"{value!r} came, an integer in {self.low} … {self.high} is wanted"


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A yes or no; no is the simplest."""

    def problem(self, value: object) -> str | None:
        """Return what is wrong with the value in a few words, or None."""
        return None if isinstance(value, bool) else f"{value!r} came, true or false is wanted"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text of one pattern, such as numbers in hexadecimal; the empty one is the simplest, and legal."""

    pattern: str
    """Regular expression that a whole text matches."""
    longest: int
    """Most characters."""

    def problem(self, value: object) -> str | None:
        """Return what is wrong with the value in a few words, or None."""
        if not isinstance(value, str):
            return f"{value!r} came, a text is wanted"
        if len(value) > self.longest:
            return f"{len(value)} characters came, at most {self.longest} are wanted"
        if value and not re.fullmatch(self.pattern, value, re.ASCII):
            return f"{_shortened(value)!r} came, a text like {self.pattern} is wanted"
        return None


Parameter = Choice | Span | Flag | Text
"""The kinds of parameter there are."""


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def among(came: object, wanted: tuple[str, ...]) -> str:
    """Return the end of a message about a name that is not in a list, with near matches first."""
    near = difflib.get_close_matches(str(came), wanted, n=3, cutoff=0.5)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    return f"one of {', '.join(wanted)} is wanted{hint}"


def check(params: Mapping[str, Value], wanted: Mapping[str, Parameter], owner: str) -> None:
    """Raise ValueError, one line, unless the parameters are exactly those wanted and each value is legal."""
    for name in params:
        if name not in wanted:
            known = among(name, tuple(sorted(wanted))) if wanted else "none is wanted"
            raise ValueError(f"{owner}: unknown parameter {name!r}: {known}")
    for name, parameter in wanted.items():
        if name not in params:
            raise ValueError(f"{owner}: parameter {name!r} is missing")
        problem = parameter.problem(params[name])
        if problem:
            raise ValueError(f"{owner}: parameter {name!r}: {problem}")
