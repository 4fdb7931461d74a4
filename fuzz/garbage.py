"""What stands in memory that the producer never wrote: anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from fuzz.bits import Stream

KINDS: Final = ("plausible", "nan", "inf", "huge", "patterns", "zero")
"""What an unwritten segment may hold: values as in a live one, NaN, ±inf, ±3e38, any bits, zeros."""

_HUGE = 3.0e38


def fill(
    o: torch.Tensor,
    m: torch.Tensor,
    s: torch.Tensor,
    dead: torch.Tensor,
    stream: Stream,
    kinds: Sequence[str],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return o, m, s with every dead segment [T, H, S] overwritten, its kind chosen by the hash.

    A plausible segment keeps what it has where that is finite and live, else becomes m = 1, s = 2, o = 3.
    """
    if not bool(dead.any()):
        return o, m, s
    choice = stream.below("garbage kind", len(kinds), *m.shape)
    chosen = torch.tensor([KINDS.index(kind) for kind in kinds])[choice]
    return (
        _overwrite(o, dead[..., None], chosen[..., None], stream, "o", 3.0),
        _overwrite(m, dead, chosen, stream, "m", 1.0),
        _overwrite(s, dead, chosen, stream, "s", 2.0),
    )


def _overwrite(
    values: torch.Tensor, dead: torch.Tensor, chosen: torch.Tensor, stream: Stream, name: str, plain: float
) -> torch.Tensor:
    shape = tuple(values.shape)
    signs = stream.signs(f"garbage ± {name}", *shape)
    usual = torch.where(torch.isfinite(values), values, torch.full_like(values, plain))
    if name == "s":
        usual = torch.where(usual > 0, usual, torch.full_like(values, plain))
    contents = {
        "plausible": usual,
        "nan": torch.full_like(values, torch.nan),
        "inf": (signs * torch.inf).to(torch.float32),
        "huge": (signs * _HUGE).to(torch.float32),
        "patterns": stream.patterns(f"garbage {name}", *shape),
        "zero": torch.zeros_like(values),
    }
    for number, kind in enumerate(KINDS):
        values = torch.where(dead & (chosen == number), contents[kind], values)
    return values
