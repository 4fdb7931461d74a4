"""From the text of an option to its value; ValueError, in one line, for what a parser refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def switch(text: str) -> bool:
    """Parse a switch as the environment or pyproject.toml may spell it."""
    words = {
        "1": True,
        "true": True,
        "on": True,
        "yes": True,
        "0": False,
        "false": False,
        "off": False,
        "no": False,
    }
    if text.lower() not in words:
        raise ValueError(f"{text!r} is not a switch: wanted on or off")
    return words[text.lower()]


def whole(minimum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `minimum` up."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise ValueError(f"{text!r} is not a whole number from {minimum} up")
        return number

    return parse


def seconds(text: str) -> float:
    """Parse a duration: 90, 90s, 5m or 2h."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        value = float(number) * unit
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not a duration: wanted e.g. 90s, 5m or 2h")
    return value


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """Return a parser of one of the names."""

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r} is none of {', '.join(names)}")
        return text

    return parse


def some_of(names: Sequence[str], *, or_none: bool = False) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of a comma-separated list of the names; with `or_none`, none is an empty one."""

    def parse(text: str) -> tuple[str, ...]:
        if or_none and text.strip() == "none":
            return ()
        chosen = tuple(part.strip() for part in text.split(",") if part.strip())
        unknown = [part for part in chosen if part not in names]
        if unknown or not chosen:
            raise ValueError(f"{unknown[0] if unknown else text!r} is none of {', '.join(names)}")
        return chosen

    return parse


def coordinates(text: str) -> tuple[int, ...]:
    """Parse TOKEN,HEAD or TOKEN,HEAD,COLUMN."""
    parts = text.split(",")
    if len(parts) not in (2, 3) or not all(is_number(part) for part in parts):
        raise ValueError(f"{text!r} is not a place: wanted e.g. 0,3 for an lse or 0,3,17 for an output")
    return tuple(int(part) for part in parts)


def is_number(text: str) -> bool:
    """Tell whether text is a plain decimal number."""
    return text.isascii() and text.isdigit()
