"""Behaviour cells: a coarse map of what rows do inside a merge, to tell new ground from old.

A cell is named by the gap between the largest maximum and the smallest live one, how much the worst
value's sum cancels, the dtype, how many segments are empty, how many are active, and how large the value
is. Edges are where arithmetic changes: 24 and 53 bits, the exponents at which float32 weights vanish.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from fuzz.mutation import mutants_of
from verify.bounds.rows import rows_of
from verify.campaign.outcome import Reached
from verify.judge import Judged, JudgedValues

_GAPS = (0.5, 12.0, 24.0, 53.0, 126.0, 150.0, 512.0)
_ACTIVE = (0.5, 1.5, 4.5, 16.5, 64.5)
_CANCELLED = (2.0, 12.0, 24.0, 53.0)  # bits
_MOST = 16  # cells told of a case, the worst first
_SIZES = (len(_GAPS) + 2, len(_CANCELLED) + 2, 5, len(_ACTIVE) + 2, 7)  # numbers that each coordinate has
_FACTORS = tuple(math.prod(_SIZES[n + 1 :]) for n in range(len(_SIZES)))


class Cells:
    """Names the cells that cases reach; tells of a row only where it is the worst this process has met."""

    def __init__(self) -> None:
        self._worst: dict[str, tuple[bool, float]] = {}

    def reached(self, case: MergeCase, judged: Judged) -> tuple[Reached, ...]:
        """Return the worst row in each cell that the case reached, the worst of all first."""
        if not case.outputs:
            return ()
        badness, column = _badness(judged.output).max(-1)
        codes = _codes(case, column)
        badness = torch.maximum(badness, _badness(judged.lse)).flatten()
        told = []
        for code, row in _worst_rows(codes, badness):
            where = divmod(row, case.H)
            letters = (f"{letter}{n}" for letter, n in zip("gcear", code, strict=True))
            name = "-".join((case.out_dtype, *letters))
            told.append((float(badness[row]), name, (*where, int(column[where]))))
        told.sort(reverse=True)
        return tuple(self._told(case, *entry) for entry in told[:_MOST])

    def _told(self, case: MergeCase, badness: float, name: str, where: tuple[int, ...]) -> Reached:
        misrounded = badness >= _MISROUNDED
        margin = badness - _MISROUNDED if misrounded else badness
        parent = None
        if (misrounded, margin) > self._worst.get(name, (False, -1.0)):
            self._worst[name] = misrounded, margin
            parent = mutants_of(case, where, seed=0, tokens=1, heads=1, rank=case.R, strength=0)
        return Reached(cell=name, margin=margin, misrounded=misrounded, parent=parent)


_MISROUNDED = 2.0**20  # more than a margin that is still of interest


def _badness(values: JudgedValues) -> Tensor:
    """Return |error| / bound, 0 where there is no number; what is misrounded counts above all that is not."""
    margin = (values.error.abs() / values.bound).clamp(max=_MISROUNDED / 2)
    worse = torch.where(values.steps != 0, _MISROUNDED, 0.0)
    return torch.where(values.number, margin + worse, 0.0)


def _worst_rows(codes: Tensor, badness: Tensor) -> list[tuple[tuple[int, ...], int]]:
    """Return each code that occurs and the first of its worst rows, of the worst codes 16."""
    key = (codes.reshape(-1, len(_SIZES)) * torch.tensor(_FACTORS, device=codes.device)).sum(-1)
    worst = torch.full((_SIZES[0] * _FACTORS[0],), -1.0, dtype=badness.dtype, device=key.device)
    worst = worst.scatter_reduce(0, key, badness, "amax")
    rows = torch.arange(len(key), device=key.device)
    rows = torch.where(badness == worst[key], rows, len(key))
    first = torch.full(worst.shape, len(key), device=key.device).scatter_reduce(0, key, rows, "amin")
    most = worst.sort(descending=True, stable=True).indices[:_MOST]
    found = [(int(code), int(first[code])) for code in most.tolist() if worst[code] >= 0]
    return [(tuple(n // f % z for f, z in zip(_FACTORS, _SIZES, strict=True)), row) for n, row in found]


def _codes(case: MergeCase, column: Tensor) -> Tensor:
    """Return the coordinates of each row's cell, [T, H, 5] int64."""
    rows = rows_of(case)
    o = case.segm_output.gather(3, column[:, :, None, None].expand(-1, -1, case.S, 1))[..., 0].double()
    active = case.active.to(o.device)[:, None].expand(o.shape[:2])
    parts = torch.where(rows.live, o, 0.0) * rows.weight
    total, size = parts.sum(-1), parts.abs().sum(-1)
    codes = (
        _bucket(rows.gap.amax(-1), _GAPS),
        _bucket(torch.log2(size / total.abs()), _CANCELLED),
        _empties(rows.live.sum(-1), active),
        _bucket(active.double(), _ACTIVE),
        _range((total / rows.den).abs(), case.out_dtype),
    )
    return torch.stack(codes, -1)


def _bucket(values: Tensor, edges: tuple[float, ...]) -> Tensor:
    """Return the index of each value's bucket; NaN has one of its own."""
    limits = torch.tensor(edges, dtype=torch.float64, device=values.device)
    return torch.where(values.isnan(), len(edges) + 1, torch.bucketize(values.contiguous(), limits))


def _empties(live: Tensor, active: Tensor) -> Tensor:
    """0: no active segment is empty; 1: a few; 2: most; 3: all but one; 4: all."""
    empty = active - live
    few = torch.where(2 * empty <= active, 1, 2)
    return torch.where(empty == 0, 0, torch.where(live == 0, 4, torch.where(live == 1, 3, few)))


def _range(size: Tensor, dtype: str) -> Tensor:
    """0: zero; then below, in and above the normal numbers of the format, these in three parts."""
    fmt = FORMATS[dtype]
    edges = (0.0, 2.0**fmt.emin, 2.0 ** (fmt.emin / 2), 2.0 ** (fmt.emax / 2), fmt.max_value)
    return _bucket(size, edges)
