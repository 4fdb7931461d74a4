"""Run one call of a sweep and judge every point of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.formats import FORMATS, Format
from reports.strata import EDGES
from verify.bounds import Bounds, second_terms
from verify.judge import judge_values
from verify.oracle.target import Kind
from verify.oracle.values import ExactValues
from verify.subjects.call import call_subject
from verify.subjects.load import Subject
from verify.sweep.probe import Probe
from verify.sweep.settle import from_oracle, picked, replaced
from verify.sweep.tally import Cell, Tally
from verify.ulp import error_ulp

_JUDGED = 1 << 22  # points whose bound is evaluated at a time
_JUDGED_WIDE = 1 << 15  # the same of several segments: a batched product of more is refused by some libraries


@dataclass(frozen=True, kw_only=True)
class Points:
    """Points of one call."""

    points: Tensor
    """[N] int64, of one shape, ascending."""
    whole: bool
    """Whether they are neighbours: n, n + 1, …"""


def measure(subject: Subject, probe: Probe, part: Points, dtype: str, bounds: Bounds) -> Tally:
    """Call the kernel on some points and judge the probe's result at each of them.

    A call that gives nothing to judge is a fault without points.
    """
    points = part.points
    padding = -len(points) % probe.rank
    padded = torch.cat([points, points[-1:].expand(padding)]) if padding else points
    case = probe.case(padded, dtype, rank=probe.rank)
    reason = subject.capabilities.unsupported(case)
    if reason:
        return Tally(unsupported={reason: len(points)})
    call = call_subject(subject, case)
    faults = Counter(f"{fault.kind.value}: {fault.message}" for fault in call.faults)
    if call.returned is None:
        return Tally(faults=faults)
    got = getattr(call.returned, probe.result).flatten()[: len(points)].double()
    del case, call
    fmt = FORMATS[dtype if probe.result == "output" else "float32"]
    exact, handed_on = exact_values(probe, points, dtype, fmt)
    error = error_ulp(got, exact, fmt)
    number = (exact.kind == int(Kind.NUMBER)) & ~error.isnan()
    size = error.abs()
    # What was never written shows a NaN, so it is here too; where a NaN is right any NaN will do, for the
    # marker is among those that a kernel is handed, and may hand through.
    beyond = ~(size <= bounds.ulp)
    misrounded = number & (got != exact.rounded)
    normal = number & (exact.rounded.abs() >= 2.0**fmt.emin)
    tally = Tally(
        points=len(points),
        misrounded=int(misrounded.sum()),
        misplaced=int(error.isnan().sum()),
        handed_on=handed_on,
        max_ulp=float(torch.where(number, size, 0.0).max()),
        max_normal_ulp=float(torch.where(normal, size, 0.0).max()),
        judged_ulp=float(torch.where(number & ~beyond, size, 0.0).max()),
        counts=_histogram(size, number),
        cells=_cells(torch.where(size.isnan(), torch.inf, size), misrounded, part, probe.cell_bits),
        faults=faults,
    )
    places = beyond.nonzero().flatten()
    if not len(places):
        return tally
    block = _JUDGED_WIDE if probe.segments(int(points[0])) > 1 else _JUDGED
    for some in torch.split(places, block):
        found = _beyond(probe, points[some], got[some], picked(exact, some), dtype, fmt, bounds)
        tally = tally.merged(found)
    return tally


def exact_values(probe: Probe, points: Tensor, dtype: str, fmt: Format) -> tuple[ExactValues, int]:
    """Return the exact values at points of one shape, and how many of them the oracle had to decide."""
    exact, doubtful = probe.exact(points, fmt)
    left = doubtful.nonzero().flatten()
    if len(left):
        exact = replaced(exact, left, from_oracle(probe.case(points[left], dtype), probe.result))
    return exact, len(left)


def _beyond(
    probe: Probe,
    points: Tensor,
    got: Tensor,
    exact: ExactValues,
    dtype: str,
    fmt: Format,
    bounds: Bounds,
) -> Tally:
    """Judge values beyond the first term of the bound by all of it; they are counted already."""
    terms = second_terms(probe.case(points, dtype), bounds)
    term = getattr(terms, probe.result).flatten()
    unwritten = torch.zeros_like(got, dtype=torch.bool)
    judged = judge_values(probe.result, got, unwritten, exact, term, fmt, bounds)
    excused = ~judged.inside & ~judged.failed
    return Tally(
        failed=int(judged.failed.sum()),
        excused=dict(terms.out_of_domain) if bool(excused.any()) else {},
        judged_ulp=float(judged.judged.max()),
    )


def _histogram(size: Tensor, number: Tensor) -> tuple[int, ...]:
    edges = torch.tensor(EDGES[1:-1], dtype=torch.float64, device=size.device)
    bins = torch.bucketize(size, edges, right=True, out_int32=True)
    bins = torch.where(number, bins, len(EDGES) - 1)  # what has no error goes into a bin of its own
    return tuple(torch.bincount(bins, minlength=len(EDGES)).tolist()[:-1])


def _cells(size: Tensor, misrounded: Tensor, part: Points, bits: int) -> dict[int, Cell]:
    return (
        _cells_of_neighbours(size, misrounded, part, bits)
        if part.whole
        else _cells_of(size, misrounded, part.points, bits)
    )


def _cells_of_neighbours(size: Tensor, misrounded: Tensor, part: Points, bits: int) -> dict[int, Cell]:
    """Return the map of neighbouring points: each cell is a row of the errors, reshaped."""
    first = int(part.points[0])
    front = first & ((1 << bits) - 1)
    back = -(front + len(size)) & ((1 << bits) - 1)
    ulp, place = torch.nn.functional.pad(size, (front, back), value=-1.0).view(-1, 1 << bits).max(1)
    count = torch.nn.functional.pad(misrounded, (front, back)).view(-1, 1 << bits).sum(1)
    start = (first >> bits) << bits
    points = start + (torch.arange(len(ulp), device=size.device) << bits) + place
    cells = {}
    for i, row in enumerate(zip(count.tolist(), ulp.tolist(), points.tolist(), strict=True)):
        left, right = start + (i << bits), start + ((i + 1) << bits)
        cells[left >> bits] = Cell(min(right, first + len(size)) - max(left, first), *row)
    return cells


def _cells_of(size: Tensor, misrounded: Tensor, points: Tensor, bits: int) -> dict[int, Cell]:
    """Return the map of any points."""
    names, cell, totals = torch.unique(points >> bits, return_inverse=True, return_counts=True)
    ulp = torch.zeros(len(names), dtype=torch.float64, device=size.device)
    ulp.scatter_reduce_(0, cell, size, "amax")
    count = torch.zeros(len(names), dtype=torch.int64, device=size.device)
    count.scatter_add_(0, cell, misrounded.to(torch.int64))
    worst = size == ulp[cell]
    point = torch.full_like(count, torch.iinfo(torch.int64).max)
    point.scatter_reduce_(0, cell[worst], points[worst], "amin")
    columns = (names, totals, count, ulp, point)
    return {name: Cell(*rest) for name, *rest in zip(*(x.tolist() for x in columns), strict=True)}
