"""Notice when Triton compiles: that time is not the kernel's, and no hang."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any


class CompileClock:
    """Adds up the seconds that Triton compiles in this process, and says when it begins and ends."""

    def __init__(self, begun: Callable[[], None], ended: Callable[[], None]) -> None:
        self._begun = begun
        self._ended = ended
        self._seconds = 0.0

    def watch(self) -> None:
        """Time Triton's compiler, if the kernel brought it; one of another kind is not noticed.

        To be called before the first kernel is. Triton's own hooks would do, but they ask that every
        compile-time argument can be written as JSON, which a function passed as one cannot.
        """
        compiler: Any = sys.modules.get("triton.compiler")
        if compiler is not None and hasattr(compiler, "compile"):
            compiler.compile = self._timed(compiler.compile)

    def taken(self) -> float:
        """Return the seconds since this was last asked."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    def _timed(self, compile_: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compile_)
        def timed(*args: Any, **options: Any) -> Any:
            since = time.monotonic()
            self._begun()
            try:
                return compile_(*args, **options)
            finally:
                self._seconds += time.monotonic() - since
                self._ended()

        return timed
