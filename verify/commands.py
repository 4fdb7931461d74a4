"""The console script `mla-verify COMMAND …`, the same as `python -m verify.COMMAND …`."""

from __future__ import annotations

import sys
from importlib import import_module

from verify.exits import CLEAN, USAGE

_COMMANDS = {
    "bench": "verify.bench",
    "diff": "verify.diff",
    "fuzz": "verify.fuzz",
    "gate": "verify.gate",
    "museum": "verify.museum.__main__",
    "replay": "verify.replay",
    "sweep": "verify.sweep.__main__",
}


def main() -> int:
    """Run the named command and return its exit code."""
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(
            f"usage: mla-verify COMMAND …\n\ncommands: {', '.join(_COMMANDS)}; each has a --help of its own"
        )
        return CLEAN
    if len(sys.argv) < 2 or sys.argv[1] not in _COMMANDS:
        came = repr(sys.argv[1]) if len(sys.argv) > 1 else "nothing"
        print(f"error: command {came}: wanted one of {', '.join(_COMMANDS)}", file=sys.stderr)
        return USAGE
    code: int = import_module(_COMMANDS[sys.argv[1]]).main(sys.argv[2:])
    return code
