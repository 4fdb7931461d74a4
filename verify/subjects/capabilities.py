"""What a kernel says that it supports and promises: a case outside is not a finding, nor a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.laws import LAWS
from verify.subjects.sizes import ANY, Numbers, numbers

_DEVICES = ("cpu", "cuda")
_STRIDES = ("any", "contiguous")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one kernel supports; by default everything."""

    S: Numbers = ANY
    """Segments."""
    R: Numbers = ANY
    """Rank."""
    H: Numbers = ANY
    """Heads."""
    T: Numbers = ANY
    """Tokens."""
    tile: Numbers = ANY
    """Tile sizes."""
    dtypes: tuple[str, ...] = tuple(FORMATS)
    """Output formats."""
    strides: str = "any"
    """`any`, or `contiguous` for a kernel that takes nothing else."""
    devices: tuple[str, ...] = _DEVICES
    """Kinds of devices."""
    laws: tuple[str, ...] = tuple(LAWS)
    """Laws that it promises to keep."""
    exact: bool = False
    """Whether the exact algebra holds bit by bit, and not just within the bounds of both results."""

    def record(self) -> dict[str, Any]:
        """Return the declaration as plain data, by the names that `@supports` takes."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        plain = {Numbers: str, tuple: list}
        return {name: plain.get(type(value), lambda same: same)(value) for name, value in values.items()}

    def unsupported(self, case: MergeCase) -> str:
        """Return why a case is not supported, alike for many cases; empty when it is."""
        sizes = {"S": case.S, "R": case.R, "H": case.H, "T": case.T, "tile": case.tile_size}
        for name, size in sizes.items():
            if size not in getattr(self, name):
                return f"{name} outside {getattr(self, name)}"
        if case.out_dtype not in self.dtypes:
            return f"dtype outside {','.join(self.dtypes)}"
        if case.segm_output.device.type not in self.devices:
            return f"device outside {','.join(self.devices)}"
        inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
        if self.strides == "contiguous" and not all(tensor.is_contiguous() for tensor in inputs):
            return "strides not contiguous"
        return ""


def capabilities_of(declared: Mapping[str, Any]) -> Capabilities:
    """Read a declaration as `supports` takes it; ValueError names the first thing that is amiss."""
    known = tuple(field.name for field in fields(Capabilities))
    read: dict[str, Any] = {}
    for name, value in declared.items():
        if name not in known:
            raise ValueError(f"{name} is not known; there are {', '.join(known)}")
        try:
            read[name] = _READERS.get(name, _numbers)(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return Capabilities(**read)


def _text(value: object) -> str:
    """Return what is declared as text; a list stands for its items with commas between them."""
    items = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str) or type(item) is int for item in items):
        raise ValueError(f"{value!r} is neither text nor whole numbers")
    return ",".join(str(item) for item in items)


def _numbers(value: object) -> Numbers:
    return numbers(_text(value))


def _among(
    known: Iterable[str], *, every: str, none: str | None = None
) -> Callable[[object], tuple[str, ...]]:
    """Return a reader of names; `every` stands for all of them."""
    known = tuple(known)

    def read(value: object) -> tuple[str, ...]:
        text = _text(value).strip()
        if text in (every, none):
            return known if text == every else ()
        names = tuple(name.strip() for name in text.split(","))
        for name in names:
            if name not in known:
                raise ValueError(f"there is no {name!r} among {', '.join(known)}")
        return names

    return read


def _strides(value: object) -> str:
    if value not in _STRIDES:
        raise ValueError(f"{value!r} is not {' or '.join(_STRIDES)}")
    return str(value)


def _exact(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


_READERS: dict[str, Callable[[object], Any]] = {
    "dtypes": _among(FORMATS, every="any"),
    "devices": _among(_DEVICES, every="any"),
    "laws": _among(LAWS, every="all", none="none"),
    "strides": _strides,
    "exact": _exact,
}
