"""Faulty kernels run in worker processes, as a user's do."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify.museum.registry import EXHIBITS


@pytest.fixture
def kernel(tmp_path):
    """Return a function that writes a kernel's source to a file and names it as `--kernel` takes it."""

    def write(source: str) -> str:
        file = Path(tmp_path) / "kernel.py"
        file.write_text("import os, time\nimport torch\n" + source)
        return f"{file}:merge"

    return write


@pytest.fixture
def faulty():
    """Return a function that names an exhibit of the museum as `--kernel` takes it."""
    return lambda name: EXHIBITS[name].path
