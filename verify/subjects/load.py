"""Find the kernel that `--kernel` names, and what it says that it supports."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verify.subjects.capabilities import Capabilities, capabilities_of
from verify.subjects.convention import SEGMENTS, Convention
from verify.subjects.declare import ATTRIBUTE

# Names that need no path. The value is what anybody could have typed instead.
NAMED = {
    "mla_merge": "mla_merge:merge_mla_segments_triton",
    "baseline_fp32": "verify.subjects.baseline_fp32:merge_fp32",
}

# What is declared of kernels that must know nothing of this package.
_DECLARED = {"mla_merge:merge_mla_segments_triton": {"exact": True}}

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
    """Called as its convention says."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    """What it supports and promises; everything unless it says otherwise."""
    convention: Convention = SEGMENTS
    """The form of its arguments and results."""

    @property
    def laws(self) -> frozenset[str]:
        """The laws that it promises and its convention can say something of."""
        return frozenset(self.capabilities.laws) - self.convention.silent_laws

    @property
    def takes_outputs(self) -> bool:
        """Whether it can be handed its outputs, as `output=` and `lse=`; asked of the contract's own form."""
        if self.convention != SEGMENTS:
            return False
        try:
            names = inspect.signature(self.merge).parameters
        except (TypeError, ValueError):  # of something that does not tell
            return False
        return "output" in names and "lse" in names


def load_subject(spec: str, convention: Convention = SEGMENTS) -> Subject:
    """Import the kernel that `spec` names; raise SubjectError where it is none or declares nonsense."""
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
    return Subject(
        name=_short_name(spec),
        import_path=path,
        source_sha256=_source_sha256(merge),
        merge=merge,
        capabilities=_capabilities(spec, path, module, function, merge),
        convention=convention,
    )


def _capabilities(spec: str, path: str, module: Any, function: str, merge: Any) -> Capabilities:
    """Read what is declared of a kernel, by its decorator or in the file beside it."""
    file = Path(getattr(module, "__file__", None) or "nowhere").with_suffix(".toml")
    sources = {
        "": _DECLARED.get(path),
        f"@supports of {function}": getattr(merge, ATTRIBUTE, None),
        f"[mla-verify.{function}] in {file.name}": _table(spec, file, module).get(function),
    }
    found = {source: declared for source, declared in sources.items() if declared is not None}
    if len(found) > 1:
        raise SubjectError(f"--kernel {spec!r}: it is declared twice, by {' and by '.join(found)}")
    for source, declared in found.items():
        try:
            return capabilities_of(declared)
        except ValueError as error:
            raise SubjectError(f"--kernel {spec!r}: {source}: {error}") from None
    return Capabilities()


def _table(spec: str, file: Path, module: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the declarations in the file beside a module, by function; none where there is no such file."""
    if not file.is_file():
        return {}
    try:
        table: dict[str, dict[str, Any]] = tomllib.loads(file.read_text()).get("mla-verify", {})
    except (OSError, ValueError) as error:
        raise SubjectError(f"--kernel {spec!r}: {file}: {' '.join(str(error).split())}") from error
    # What is not a function of the module was meant for one, and would be ignored.
    for function, declared in table.items() if isinstance(table, dict) else [("mla-verify", None)]:
        if not (isinstance(declared, dict) and callable(getattr(module, function, None))):
            raise SubjectError(
                f"--kernel {spec!r}: {file.name}: wanted tables [mla-verify.FUNCTION], and {function} is "
                "none or not of a function in the module beside it"
            )
    return table


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
