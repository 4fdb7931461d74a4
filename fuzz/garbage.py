"""What stands in memory that the producer never wrote: anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from fuzz.bits import Stream, bounded, float32_pattern

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
    places = dead.nonzero(as_tuple=True)
    if places[0].numel() == 0:
        return o, m, s
    choice = bounded(stream.words_at("garbage kind", *places), len(kinds))
    chosen = torch.tensor([KINDS.index(kind) for kind in kinds])[choice]
    rank = torch.arange(o.shape[-1])
    deep = (*(place[:, None] for place in places), rank)
    o, m, s = o.clone(), m.clone(), s.clone()
    for number in {KINDS.index(kind) for kind in kinds}:
        here = chosen == number
        at = tuple(place[here] for place in places)
        for values, name, plain, coordinates in (
            (o, "o", 3.0, tuple(place[here] if place.ndim > 1 else place for place in deep)),
            (m, "m", 1.0, at),
            (s, "s", 2.0, at),
        ):
            values[at] = _contents(KINDS[number], values[at], stream, name, plain, coordinates)
    return o, m, s


def _contents(
    kind: str,
    values: torch.Tensor,
    stream: Stream,
    name: str,
    plain: float,
    places: tuple[torch.Tensor, ...],
) -> torch.Tensor:
    """Return garbage of one kind for elements that hold `values`, at these coordinates of the case."""
    if kind == "plausible":
        usual = values.isfinite() & (values > 0) if name == "s" else values.isfinite()
        return torch.where(usual, values, plain)
    if kind == "patterns":
        return float32_pattern(stream.words_at(f"garbage {name}", *places) >> 32)
    if kind in ("nan", "zero"):
        return torch.full_like(values, torch.nan if kind == "nan" else 0.0)
    negative = bounded(stream.words_at(f"garbage ± {name}", *places), 2) == 1
    size = torch.inf if kind == "inf" else _HUGE
    return torch.full_like(values, size).masked_fill_(negative, -size)
