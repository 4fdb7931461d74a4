"""The process that compiles: calls a kernel for one target, and keeps what each launch is compiled to.

`python -m verify.audit.capture REQUEST` reads a request as JSON and writes the answer beside it, since what
a kernel prints may go anywhere. Launches compile through Triton's own path (signature, specialisation,
options, heuristics, every configuration of an autotuner), and then do not happen.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from triton.runtime.jit import JITFunction

from verify.audit.calls import Call, case_of
from verify.audit.stand_in import stand_in
from verify.audit.targets import TARGETS, Target
from verify.subjects.call import run_subject
from verify.subjects.load import Subject, SubjectError, load_subject
from verify.subjects.peers import CONVENTIONS

_KEPT = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "allow_flush_denorm", "shared")


class Capture:
    """Keeps what the launches of one process are compiled to, each once."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target, self._folder = target, folder
        self.found: dict[str, dict[str, Any]] = {}
        self.launched = 0

    def install(self) -> None:
        """Let every launch compile, and none happen."""
        original: Callable[..., Any] = JITFunction.run

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            compiled = original(function, *args, grid=grid, warmup=True, **kwargs)
            self.launched += 1
            if compiled is not None:
                self._keep(function, compiled)
            return compiled

        JITFunction.run = run

    def _keep(self, function: Any, compiled: Any) -> None:
        source = compiled.src
        about = {
            "kernel": function.fn.__name__,
            "file": Path(inspect.getsourcefile(function.fn) or "unknown").name,
            "line": function.fn.__code__.co_firstlineno,
            "signature": {name: str(kind) for name, kind in source.signature.items()},
            "constants": {_name(function, path): repr(value) for path, value in source.constants.items()},
            "options": {name: getattr(compiled.metadata, name, None) for name in _KEPT},
        }
        attributes = sorted((str(k), str(v)) for k, v in source.attrs.items())
        key = hashlib.sha256(json.dumps([about, attributes], sort_keys=True, default=str).encode())
        name = f"{function.fn.__name__}-{key.hexdigest()[:10]}"
        if name in self.found:
            return
        for ending in (self._target.assembly, "ttir", "cubin"):
            if ending in compiled.asm:
                content = compiled.asm[ending]
                raw = content if isinstance(content, bytes) else content.encode()
                (self._folder / f"{name}.{ending}").write_bytes(raw)
        self.found[name] = {"name": name, **about, "calls": []}

    def call(self, subject: Subject, call: Call) -> str:
        """Call the kernel once; return what it raised, in a line, or nothing."""
        case, before = case_of(call), set(self.found)
        if complaint := subject.capabilities.unsupported(case):
            return f"unsupported: {complaint}"
        launched = self.launched
        try:
            run_subject(subject, case, nullcontext())
        except Exception as error:  # a kernel may raise anything, a compiler too
            return _said(error)
        for name in set(self.found) - before:
            self.found[name]["calls"].append(str(call))
        return "" if self.launched > launched else "no launch"


def _said(error: Exception) -> str:
    compiling = any(kind.__module__.startswith("triton.compiler") for kind in type(error).__mro__)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Triton ends with the reason, after the source and a caret.
    text = " ".join([lines[0], *lines[-2:]] if compiling and len(lines) > 3 else lines)[:400]
    return f"{'does not compile' if compiling else 'raised'}: {type(error).__name__}: {text}"


def _name(function: Any, path: Any) -> str:
    places = path if isinstance(path, tuple) else (path,)
    return ".".join([str(function.arg_names[places[0]]), *(str(place) for place in places[1:])])


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Compile what is asked for; `refused` alone in the answer where the kernel cannot be loaded."""
    target, folder = TARGETS[request["target"]], Path(request["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    stand_in(target)
    capture = Capture(target, folder)
    capture.install()
    try:
        subject = load_subject(request["kernel"], CONVENTIONS[request["convention"]])
    except SubjectError as error:
        return {"refused": str(error)}
    begun = time.monotonic()
    failed = {}
    for wanted in request["calls"]:
        call = Call(**wanted)
        if said := capture.call(subject, call):
            failed[str(call)] = said
    return {
        "subject": {"name": subject.name, "path": subject.import_path, "sha256": subject.source_sha256},
        "compiled": list(capture.found.values()),
        "failed": failed,
        "launched": capture.launched,
        "seconds": round(time.monotonic() - begun, 2),
    }


def main() -> None:
    """Answer the request in the file that the command line names."""
    file = Path(sys.argv[1])
    try:
        said = answer(json.loads(file.read_text()))
    except Exception:  # what a kernel raises was caught: this is the suite's own
        said = {"broken": traceback.format_exc()}
    file.with_suffix(".answer").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
