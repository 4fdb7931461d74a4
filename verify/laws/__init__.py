"""What must hold between a kernel's results, whatever the right values are: no oracle is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verify.laws import (
    batch,
    constant,
    empties,
    hull,
    mass,
    neighbours,
    outputs,
    position,
    repeat,
    scale,
    shift,
    single,
    strides,
    tail,
)
from verify.laws.law import Called, Checked, Law, Trial

__all__ = ["LAWS", "Called", "Checked", "Law", "Trial"]

LAWS: Final[Mapping[str, Law]] = {
    module.LAW.name: module.LAW
    for module in (
        *(repeat, batch, neighbours, position, tail, empties, strides, outputs),
        *(shift, scale, mass, constant, hull, single),
    )
}
"""The laws by name: those of every kernel first, bit for bit, then the exact algebra."""
