"""Options of the commands: flag > environment > `[tool.mla-verify]` in pyproject.toml > default."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

SECTION = "mla-verify"


class UsageError(ValueError):
    """The command was called wrongly; the message is one line that says what to do about it."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a command."""

    name: str
    """Without dashes, as in pyproject.toml: `max-cases`."""
    parse: Callable[[str], Any]
    """From text to value; raises ValueError with one line."""
    default: Any
    """Value when nobody sets it."""
    help: str
    """One line for `--help`."""
    metavar: str | None = None
    """What `--help` shows in place of the value."""
    short: str | None = None
    """Short form of a switch."""

    @property
    def is_switch(self) -> bool:
        """Whether the option stands alone on the command line."""
        return self.default is False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "MLA_VERIFY_" + self.name.replace("-", "_").upper()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A value and where it came from."""

    value: Any
    source: str


class Settings:
    """The options of one call, by name."""

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self._settings = settings

    def __getitem__(self, name: str) -> Any:
        return self._settings[name].value

    def lines(self) -> list[str]:
        """Return one line per option: value and source."""
        width = max(len(name) for name in self._settings)
        shown = ((name, plain(setting.value), setting.source) for name, setting in self._settings.items())
        return [f"{name:<{width}}  {value!s:<24}  {source}" for name, value, source in shown]

    def record(self) -> dict[str, dict[str, Any]]:
        """Return the settings as plain data for a report."""
        return {
            name: {"value": plain(setting.value), "source": setting.source}
            for name, setting in self._settings.items()
        }


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` lists the options")


def read_settings(
    program: str,
    purpose: str,
    options: Sequence[Option],
    argv: Sequence[str] | None,
    positional: str | None = None,
) -> Settings:
    """Parse the command line and fill in the rest; UsageError for anything that is not understood.

    `--help` prints and exits as argparse does; `--show-config` prints every value with its source and exits.
    """
    parser = _Parser(prog=program, description=purpose, argument_default=argparse.SUPPRESS)
    for option in options:
        names = [f"-{option.short}"] if option.short else []
        shape: dict[str, Any] = {"metavar": option.metavar or option.name.upper()}
        if option.is_switch:
            shape = {"action": "store_const", "const": "true"}
        parser.add_argument(*names, f"--{option.name}", dest=option.name, help=option.help, **shape)
    parser.add_argument(
        "--show-config", action="store_true", help="print each value with its source and stop"
    )
    if positional:
        parser.add_argument(positional, metavar=positional.upper(), help="SEED/NUMBER or a file")
    given = vars(parser.parse_args(argv))
    table = _project_table()
    chosen = {option.name: _setting(option, given, table) for option in options}
    if positional:
        chosen[positional] = Setting(value=given[positional], source="command line")
    settings = Settings(chosen)
    if "show_config" in given:
        print("\n".join(settings.lines()))
        sys.exit(0)
    return settings


def _setting(option: Option, given: Mapping[str, str], table: Mapping[str, Any]) -> Setting:
    if option.name in given:
        text, source = given[option.name], f"--{option.name}"
    elif option.variable in os.environ:
        text, source = os.environ[option.variable], option.variable
    elif option.name in table:
        entry = table[option.name]
        text = ",".join(map(str, entry)) if isinstance(entry, list) else str(entry)
        source = f"pyproject.toml [tool.{SECTION}]"
    else:
        return Setting(value=option.default, source="default")
    try:
        return Setting(value=option.parse(text), source=source)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None


def _project_table() -> dict[str, Any]:
    file = Path("pyproject.toml")
    if not file.is_file():
        return {}
    try:
        table: dict[str, Any] = (
            tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get(SECTION, {})
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"pyproject.toml cannot be read: {error}") from None
    return table


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
            number = int(text, 0)
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


def some_of(names: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of a comma-separated list of the names."""

    def parse(text: str) -> tuple[str, ...]:
        chosen = tuple(part.strip() for part in text.split(",") if part.strip())
        unknown = [part for part in chosen if part not in names]
        if unknown or not chosen:
            raise ValueError(f"{unknown[0] if unknown else text!r} is none of {', '.join(names)}")
        return chosen

    return parse


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
