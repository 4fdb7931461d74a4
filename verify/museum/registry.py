"""The register of the museum: every exhibit and every sound kernel by name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

from verify.museum import (
    algebra,
    dependence,
    empties,
    exact,
    layout,
    nan_policy,
    order,
    overflow,
    partition,
    precision,
    process,
    rounding,
    scale,
    side_effects,
    sound,
    width,
    writes,
)
from verify.museum.exhibit import Exhibit, Piece, Sound

P = TypeVar("P", bound=Piece)

_TORCH = (
    *(
        partition,
        scale,
        precision,
        rounding,
        empties,
        nan_policy,
        overflow,
        layout,
        width,
        writes,
        dependence,
        order,
        algebra,
    ),
    *(side_effects, process, sound, exact),
)


def _modules() -> Iterator[ModuleType]:
    yield from _TORCH
    if importlib.util.find_spec("triton"):  # CPU builds of torch come without
        yield importlib.import_module("verify.museum.in_triton")


def _pieces(kind: type[P]) -> dict[str, P]:
    found: dict[str, P] = {}
    for module in _modules():
        for piece in vars(module).values():
            if isinstance(piece, kind):
                found[piece.name] = piece
    return found


EXHIBITS = _pieces(Exhibit)
"""Every kernel with a fault, by name, wing by wing."""

SOUND = _pieces(Sound)
"""Every kernel without one."""
