"""The corpus: small cases that have broken merges somewhere, a file each, replayed first in every run.

The files are made by known.py beside them; others may be added by hand. Nothing in them is trusted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fuzz.bits import MAX_EXTENT
from fuzz.case import MergeCase
from fuzz.files import load_case

FOLDER: Final = Path(__file__).parent
"""Where the files are."""

MAX_FILE: Final = 1 << 20
"""Bytes of a file, at most: these are minimal cases."""

MAX_OUTPUTS: Final = 1 << 16
"""T · H · R of a case, at most."""

_NAME: Final = re.compile(r"[\w.-]+", re.ASCII)


def corpus_files(folder: Path = FOLDER) -> tuple[Path, ...]:
    """Return the files of the corpus, sorted by name; none where there is no such folder."""
    return tuple(sorted(folder.glob("*.safetensors"), key=lambda path: path.stem))


def load_corpus(folder: Path = FOLDER) -> tuple[tuple[str, MergeCase | ValueError], ...]:
    """Return for each file its name without the ending and its case, or one line that says what is wrong."""
    return tuple((path.stem, _loaded(path, folder)) for path in corpus_files(folder))


def _loaded(path: Path, folder: Path) -> MergeCase | ValueError:
    try:
        return _checked(path, folder)
    except ValueError as error:
        return error


def _checked(path: Path, folder: Path) -> MergeCase:
    if not _NAME.fullmatch(path.name):
        # The name goes into messages and commands.
        raise ValueError(f"{str(path)!r}: a name of letters, digits, dots, dashes and underscores is wanted")
    try:
        inside = path.resolve(strict=True).parent == folder.resolve()
        size = path.stat().st_size
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or 'a link to itself'}") from None
    if not inside:
        raise ValueError(f"{path}: a link to a file outside the corpus")
    if size > MAX_FILE:
        raise ValueError(f"{path}: {size} bytes, at most {MAX_FILE} are read")
    case = load_case(path)
    if max(case.T, case.H, case.S, case.R) > MAX_EXTENT or case.outputs > MAX_OUTPUTS:
        shape = f"T = {case.T}, H = {case.H}, S = {case.S}, R = {case.R}"
        raise ValueError(f"{path}: {shape}: dimensions to {MAX_EXTENT} and {MAX_OUTPUTS} outputs are wanted")
    return case
