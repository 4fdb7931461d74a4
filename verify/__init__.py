"""Certified verification of attention-merge kernels: oracle, ULP metric, judge, campaign, commands."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.testing.asserting import assert_merge
    from verify.testing.checking import check

__all__ = ["assert_merge", "check"]

# Imported when they are first asked for: each brings torch, and pytest loads the plugin wherever it runs.
_LAZY = {"assert_merge": "verify.testing.asserting", "check": "verify.testing.checking"}


def complaint(names: tuple[str, ...] = ("fuzz", "reports", "mla_merge")) -> str:
    """Say which of the packages that stand beside this one is another project's; empty if none is."""
    root = Path(__file__).resolve().parent.parent
    for name in names:
        spec = find_spec(name)
        found = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if found != root / name:
            return (
                f"the package {name!r} that Python finds is {found or 'nowhere'}, not {root / name}: "
                "run from another folder, or take that one off PYTHONPATH"
            )
    return ""


# `fuzz` and `reports` are common names, and half of a foreign package would fail in stranger ways.
if _said := complaint():
    # While `python -m` looks for the command, its place in argv reads -m: there a line does, not a traceback.
    if sys.argv[:1] == ["-m"]:
        print(f"error: {_said}", file=sys.stderr)
        raise SystemExit(2)
    # pytest loads the plugin wherever it runs: nobody's tests may end here. The plugin asks when it is used.
    if "_pytest.config" not in sys.modules:
        raise ImportError(_said)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if said := complaint():
        raise ImportError(said)
    return getattr(import_module(_LAZY[name]), name)
