"""Find the kernel that `--kernel` names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Names that need no path. The value is what anybody could have typed instead.
NAMED = {
    "mla_merge": "mla_merge:merge_mla_segments_triton",
    "baseline_fp32": "verify.subjects.baseline_fp32:merge_fp32",
}

_LISTED = 12

_FORMS = f"{', '.join(NAMED)}, pkg.mod:function or path/file.py:function"


class SubjectError(ValueError):
    """The kernel could not be loaded; the message is one line that says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kernel under test."""

    name: str
    """What the user called it."""
    import_path: str
    """module:function or file:function."""
    source_sha256: str
    """Of the file that defines the function; empty when it has none."""
    merge: Callable[..., Any]
    """Called as merge(segm_output, segm_max, segm_expsum, seq_lens, tile_size, out_dtype)."""


def load_subject(spec: str) -> Subject:
    """Import the kernel that `spec` names; raise SubjectError for anything that is not a callable."""
    path = NAMED.get(spec, spec)
    place, _, function = path.rpartition(":")
    if not place or not function:
        raise SubjectError(f"--kernel {spec!r} is not a kernel's name: wanted {_FORMS}")
    try:
        module = _import_file(place) if place.endswith(".py") else importlib.import_module(place)
    except SubjectError:
        raise
    except BaseException as error:  # a kernel's module may raise anything, SystemExit included
        if isinstance(error, KeyboardInterrupt):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        if "/" in place or "\\" in place:
            reason += " (a file is named with its .py)"
        raise SubjectError(f"--kernel {spec!r}: importing {place} failed with {reason}") from error
    merge = getattr(module, function, None)
    if not callable(merge):
        have = ", ".join(_functions_of(module)[:_LISTED]) or "none"
        raise SubjectError(
            f"--kernel {spec!r}: {place} has no callable {function!r}; its functions are {have}"
        )
    return Subject(name=_short_name(spec), import_path=path, source_sha256=_source_sha256(merge), merge=merge)


def _functions_of(module: Any) -> list[str]:
    """Name what the module itself defines and can be called, in the order of its source."""
    own = (name for name, value in vars(module).items() if callable(value) and _is_own(value, module))
    return [name for name in own if not name.startswith("_")]


def _is_own(value: Any, module: Any) -> bool:
    # What Triton decorates has no __module__ of the file that it stands in, but wraps a function that has.
    return bool(getattr(getattr(value, "fn", value), "__module__", None) == module.__name__)


def _short_name(spec: str) -> str:
    place, _, function = spec.rpartition(":")
    return f"{Path(place).name}:{function}" if place.endswith(".py") else spec


def _import_file(place: str) -> Any:
    file = Path(place).resolve()
    if not file.is_file():
        raise SubjectError(f"--kernel: no file {place}; wanted {_FORMS}")
    spec = importlib.util.spec_from_file_location(f"subject_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise SubjectError(f"--kernel: {place} cannot be imported as Python")
    # The file may import its neighbours, as it could when run as a script.
    sys.path.insert(0, str(file.parent))
    module = importlib.util.module_from_spec(spec)
    # Triton reads a kernel's source through sys.modules.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _source_sha256(function: Callable[..., Any]) -> str:
    try:
        source = inspect.getsourcefile(inspect.unwrap(function))
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""
    except (TypeError, OSError):
        return ""
