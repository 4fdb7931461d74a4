"""Whether a report's JSON is what `schema.json` promises, so that whoever draws it may trust every part.

It reads the keywords that the schema uses. Names that the schema does not know are let through: a report
of a later version may hold more. Numbers are stricter than in JSON Schema: an integer has no decimal point,
and what overflows to an infinity (1e999) is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Check = Callable[[Any], str]
"""Returns what is wrong with a value, its path first, or nothing."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def complaint(value: Any) -> str:
    """Return the first thing in a report's JSON that the schema does not allow; empty for none."""
    return _report_check()(value)


@cache
def _report_check() -> Check:
    schema = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
    return _compile(schema, schema["$defs"])


def _compile(schema: dict[str, Any], defs: dict[str, Any]) -> Check:
    if "$ref" in schema:
        return _compile(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "anyOf" in schema:
        return _any([_compile(option, defs) for option in schema["anyOf"]])
    checks = [_type(schema["type"])] if "type" in schema else []
    if "const" in schema or "enum" in schema:
        checks.append(_one_of(schema.get("enum", [schema.get("const")])))
    if "minimum" in schema or "maximum" in schema:
        checks.append(_within(schema.get("minimum", -math.inf), schema.get("maximum", math.inf)))
    if "pattern" in schema:
        checks.append(_matches(schema["pattern"]))
    if "properties" in schema or isinstance(schema.get("additionalProperties"), dict):
        others = schema.get("additionalProperties")
        named = {name: _compile(part, defs) for name, part in schema.get("properties", {}).items()}
        rest = _compile(others, defs) if isinstance(others, dict) else None
        checks.append(_members(named, rest, tuple(schema.get("required", ()))))
    if "prefixItems" in schema:
        checks.append(_tuple([_compile(part, defs) for part in schema["prefixItems"]]))
    elif "items" in schema:
        checks.append(_items(_compile(schema["items"], defs)))
    return checks[0] if len(checks) == 1 else _all(checks)


def _all(checks: list[Check]) -> Check:
    def check(value: Any) -> str:
        for one in checks:
            if wrong := one(value):
                return wrong
        return ""

    return check


def _any(options: list[Check]) -> Check:
    def check(value: Any) -> str:
        wrong = [option(value) for option in options]
        return "" if "" in wrong else max(wrong, key=lambda one: len(one.partition(" ")[0]))

    return check


def _type(name: str | list[str]) -> Check:
    names = [name] if isinstance(name, str) else name
    kinds = tuple(kind for one in names for kind in _flat(_TYPES[one]))
    truth = "boolean" in names

    def check(value: Any) -> str:
        fits = isinstance(value, kinds) and (truth or not isinstance(value, bool))
        if fits and not (isinstance(value, float) and not math.isfinite(value)):
            return ""
        return f" is {_shown(value)}, wanted {' or '.join(names)}"

    return check


def _flat(kind: type | tuple[type, ...]) -> tuple[type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def _one_of(options: list[Any]) -> Check:
    def check(value: Any) -> str:
        if any(value == option and type(value) is type(option) for option in options):
            return ""
        return f" is {_shown(value)}, wanted {', '.join(map(str, options))}"[:200]

    return check


def _within(lowest: float, highest: float) -> Check:
    def check(value: Any) -> str:
        return "" if lowest <= value <= highest else f" is {_shown(value)}, out of range"

    return check


def _matches(pattern: str) -> Check:
    compiled = re.compile(pattern)

    def check(value: Any) -> str:
        return "" if compiled.search(value) else f" is {_shown(value)}, which is not of its form"

    return check


def _members(named: dict[str, Check], rest: Check | None, required: tuple[str, ...]) -> Check:
    def check(value: Any) -> str:
        for name in required:
            if name not in value:
                return f".{name} is missing"
        for name, member in value.items():
            one = named.get(name, rest)
            if one is not None and (wrong := one(member)):
                return f".{name:.40}{wrong}"
        return ""

    return check


def _items(one: Check) -> Check:
    def check(value: Any) -> str:
        for index, item in enumerate(value):
            if wrong := one(item):
                return f"[{index}]{wrong}"
        return ""

    return check


def _tuple(parts: list[Check]) -> Check:
    def check(value: Any) -> str:
        if len(value) != len(parts):
            return f" is {_shown(value)}, wanted {len(parts)} values"
        return next((f"[{i}]{wrong}" for i, one in enumerate(parts) if (wrong := one(value[i]))), "")

    return check


def _shown(value: Any) -> str:
    # A hostile number may have more digits than Python writes.
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return "a huge integer"
    return repr(value)[:50] if isinstance(value, str | int | float | bool | None) else type(value).__name__
