"""Options of the commands: flag > environment > `[tool.mla-verify]` in pyproject.toml > default."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

SECTION = "mla-verify"
PREFIX = "MLA_VERIFY_"


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
    fallback: Callable[[], tuple[Any, str] | None] = lambda: None
    """Gives a value and its source where nobody sets one, as a launcher's environment may."""

    @property
    def is_switch(self) -> bool:
        """Whether the option stands alone on the command line."""
        return self.default is False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.replace("-", "_").upper()


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

    def __contains__(self, name: str) -> bool:
        return name in self._settings

    def lines(self) -> list[str]:
        """Return one line per option: value and source."""
        width = max(len(name) for name in self._settings)
        shown = ((name, plain(setting.value), setting.source) for name, setting in self._settings.items())
        return [f"{name:<{width}}  {value!s:<24}  {source}" for name, value, source in shown]

    def arguments(self, leaving_out: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the command line that gives every value here that is no default, wherever it came from."""
        words = []
        for name, setting in self._settings.items():
            if setting.source == "default" or name in leaving_out:
                continue
            if isinstance(setting.value, bool):
                words += [f"--{name}"] if setting.value else []
            else:
                parts = setting.value if isinstance(setting.value, tuple) else (setting.value,)
                words.append(f"--{name}={','.join(map(str, parts)) or 'none'}")
        return tuple(words)

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
    known: frozenset[str],
    positional: str | None = None,
) -> Settings:
    """Parse the command line and fill in the rest; UsageError for anything that is not understood.

    `known` names the options of all commands: they share the environment and the table of pyproject.toml.
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
    _refuse_unknown(known, table)
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
        value, source = option.fallback() or (option.default, "default")
        return Setting(value=value, source=source)
    try:
        return Setting(value=option.parse(text), source=source)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None


def _project_table() -> dict[str, Any]:
    file = Path("pyproject.toml")
    if not file.is_file():
        return {}
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError) as error:
        raise UsageError(f"pyproject.toml cannot be read: {error}") from None
    table = tool.get(SECTION, {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"pyproject.toml [tool.{SECTION}] is {table!r}, wanted a table of options")
    return table


def _refuse_unknown(known: frozenset[str], table: Mapping[str, Any]) -> None:
    """Refuse settings that no command knows: a misspelt one would be ignored in silence."""
    asked = {name: f"pyproject.toml [tool.{SECTION}] {name}" for name in table}
    for variable in os.environ:
        if variable.startswith(PREFIX):
            asked[variable.removeprefix(PREFIX).lower().replace("_", "-")] = variable
    for name, place in asked.items():
        if name not in known:
            near = difflib.get_close_matches(name.replace("_", "-"), sorted(known), 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
            raise UsageError(f"{place} sets no option of any command; {hint}")


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
