"""The console script `mla-verify COMMAND …`, the same as `python -m verify.COMMAND …`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from verify.cli.exits import CLEAN, USAGE

_COMMANDS = {
    "audit": "verify.audit.__main__",
    "bench": "verify.bench.__main__",
    "diff": "verify.diff.__main__",
    "env": "verify.env.__main__",
    "fuzz": "verify.fuzz",
    "gate": "verify.gate.__main__",
    "museum": "verify.museum.__main__",
    "replay": "verify.replay.__main__",
    "sweep": "verify.sweep.__main__",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named command and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] in (["-h"], ["--help"]):
        print(
            f"usage: mla-verify COMMAND …\n\ncommands: {', '.join(_COMMANDS)}; each has a --help of its own"
        )
        return CLEAN
    if not words or words[0] not in _COMMANDS:
        came = repr(words[0]) if words else "nothing"
        print(f"error: command {came}: wanted one of {', '.join(_COMMANDS)}", file=sys.stderr)
        return USAGE
    code: int = import_module(_COMMANDS[words[0]]).main(words[1:])
    return code
