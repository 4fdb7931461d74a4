"""From a function to a name as `--kernel` takes it: for other processes, or lent in this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from verify.subjects.load import NAMED

LOCAL = "in_this_process"
"""Name of the module that is lent to a kernel which stands in none."""


def name_of(kernel: Callable[..., Any]) -> str | None:
    """Return what another process calls a function; None where it would not find that very function.

    A function of a single file is named by the file, so that the name holds whatever sys.path is.
    """
    path = _own(kernel)
    if path is None or path.startswith("__main__:"):
        return None
    if path in NAMED:
        return path
    place, _, function = path.rpartition(":")
    file = getattr(sys.modules[place], "__file__", None) or ""
    if "." not in place and file.endswith(".py") and not hasattr(sys.modules[place], "__path__"):
        return f"{_short(Path(file))}:{function}"
    return path if _is_found(place.partition(".")[0]) else None


@contextmanager
def lent(kernel: Callable[..., Any]) -> Iterator[str]:
    """Give a name by which this process can load a function: its own, or one that holds until the end."""
    own = _own(kernel)
    if own is not None:
        yield own
        return
    module = ModuleType(LOCAL)
    module.merge = kernel  # type: ignore[attr-defined]
    sys.modules[LOCAL] = module
    try:
        yield f"{LOCAL}:merge"
    finally:
        del sys.modules[LOCAL]


def _own(kernel: Callable[..., Any]) -> str | None:
    """Return the short name or module:function; None for what its module does not hold by that name."""
    for short, path in NAMED.items():  # what is declared of a kernel is declared by the short name's path
        module, _, function = path.rpartition(":")
        if getattr(sys.modules.get(module), function, None) is kernel:
            return short
    place, name = getattr(kernel, "__module__", None), getattr(kernel, "__qualname__", None)
    if not (isinstance(place, str) and isinstance(name, str)):
        return None
    return f"{place}:{name}" if getattr(sys.modules.get(place), name, None) is kernel else None


def _short(file: Path) -> str:
    file = file.resolve()
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)


def _is_found(package: str) -> bool:
    """Tell whether a fresh interpreter with this one's sys.path would find the package that is loaded."""
    loaded = getattr(sys.modules.get(package), "__file__", None)
    for finder in sys.meta_path:
        spec = finder.find_spec(package, None)
        if spec is not None:
            return spec.origin is not None and spec.origin == loaded
    return False
