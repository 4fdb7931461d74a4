"""Certified verification of attention-merge kernels: oracle, ULP metric, judge, campaign, commands."""

import sys
from importlib.util import find_spec
from pathlib import Path


def _complaint(names: tuple[str, ...]) -> str:
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
if _said := _complaint(("fuzz", "reports", "mla_merge")):
    # While `python -m` looks for the command, its place in argv reads -m: there a line does, not a traceback.
    if sys.argv[:1] == ["-m"]:
        print(f"error: {_said}", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(_said)
