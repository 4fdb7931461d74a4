"""Read a bounds file."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

from verify.bounds.bound import Bounds
from verify.bounds.float32 import Backend, Float32Bounds
from verify.bounds.float64 import Float64Bounds

# Read as a file: importing the package would import Triton, and a judge needs no kernel.
DEFAULT_BOUNDS = Path(__file__).resolve().parents[2] / "mla_merge" / "bounds.toml"
FP32_BOUNDS = Path(__file__).resolve().parent / "fp32.toml"

_NAMED = {"default": DEFAULT_BOUNDS, "fp32": FP32_BOUNDS}
_BACKENDS = ("cuda", "hip", "cpu")
_ABOUT = ("name", "file", "sha256", "base", "lse_base")


def load_bounds(spec: str | Path = "default") -> Bounds:
    """Read the bounds that `default`, `fp32` or a file's path names.

    A file holds one table, [default] or [fp32], with all the numbers of the file of that name, and may hold
    what was measured, [measured]. Raises ValueError, which says in one line what is amiss.
    """
    file = _NAMED.get(str(spec)) or Path(spec)
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(
            f"{spec} is neither default nor fp32 nor a file that can be read ({reason})"
        ) from error
    try:
        tables = tomllib.loads(content.decode())
    except ValueError as error:  # of UTF-8 or of TOML
        raise ValueError(f"{spec} is no TOML: {' '.join(str(error).split())}") from error
    tables.pop("measured", None)  # what a gate holds a kernel to beside these; ratchet.py reads it
    about: dict[str, Any] = {
        "name": str(spec),
        "file": "/".join(file.parts[-2:]),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    match list(tables):
        case ["default"]:
            return Float64Bounds(**about, **_Table(tables["default"], "default", spec).numbers(Float64Bounds))
        case ["fp32"]:
            table = _Table(tables["fp32"], "fp32", spec)
            numbers = table.numbers(Float32Bounds, also=("backends",))
            return Float32Bounds(**about, **numbers, backends=_backends(table))
        case names:
            have = ", ".join(names) or "nothing"
            raise ValueError(f"{spec} has {have} at its top, wanted one table, [default] or [fp32]")


def _backends(table: _Table) -> tuple[Backend, ...]:
    backends = table.table("backends")
    backends.check(_BACKENDS)
    return tuple(Backend(name=name, **backends.table(name).numbers(Backend)) for name in _BACKENDS)


class _Table:
    """A table of a file, and how to complain of it."""

    def __init__(self, content: Any, place: str, spec: str | Path) -> None:
        self._content, self._place, self._spec = content, place, spec
        if not isinstance(content, dict):
            raise ValueError(f"{spec}: {place} is {content!r}, wanted a table")

    def table(self, name: str) -> _Table:
        """Return a table in this one."""
        return _Table(self._content[name], f"{self._place}.{name}", self._spec)

    def check(self, names: Collection[str]) -> None:
        """Look whether exactly these names are there."""
        for name in names:
            if name not in self._content:
                raise ValueError(f"{self._spec}: {name} is missing from [{self._place}]")
        for name in self._content:
            if name not in names:
                raise ValueError(
                    f"{self._spec}: [{self._place}] has an unknown {name}; it holds {', '.join(names)}"
                )

    def numbers(self, record: type, *, also: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the numbers of a record's own fields and of the ulp, each checked."""
        kinds = {field.name: field.type for field in fields(record) if field.name not in (*_ABOUT, *also)}
        self.check((*kinds, *also))
        return {name: self._number(name, whole=kind == "int") for name, kind in kinds.items()}

    def _number(self, name: str, *, whole: bool) -> Any:
        value = self._content[name]
        # A logarithm is that of a number below 1; all else is at least 0. A bool is no number.
        right = type(value) is int or (type(value) is float and not whole)
        if not (right and (-1022 <= value < 0 if whole else 0 <= value < math.inf)):
            wanted = "a whole number from -1022 to -1" if whole else "a finite number, at least 0"
            raise ValueError(f"{self._spec}: {name} in [{self._place}] is {value!r}, wanted {wanted}")
        return value
