"""Reduce a failing case to the least that still shows the fault.

Fewest tokens, heads, segments and columns first, then the simplest numbers. A smaller case is taken only
when it fails in the same way by at least 90 % of the original error: a finding must not slide down to the
threshold while it shrinks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch

from fuzz.case import Domain, MergeCase
from verify.observed import Fault

_KEEP = 0.9
_MAX = torch.finfo(torch.float32).max
_MOST_VALUES = 256  # of a tensor that are simplified one by one
_SIMPLE = (0.0, 1.0, -1.0, 2.0)

Attempt = Callable[[MergeCase], tuple[Fault, ...]]


@dataclass(frozen=True, kw_only=True)
class Shrunk:
    """A reduced case and the fault it shows."""

    case: MergeCase
    """Explicit and contiguous where that was possible."""
    fault: Fault
    """The same kind and result as before, with its place in this case."""
    attempts: int
    """Calls of the kernel that it took."""


def shrink(case: MergeCase, fault: Fault, attempt: Attempt, limit: int = 300) -> Shrunk | None:
    """Reduce the case; None when running it again does not show the fault, so that it cannot be shrunk."""
    return _Shrinker(fault, attempt, limit).run(case)


class _Shrinker:
    def __init__(self, fault: Fault, attempt: Attempt, limit: int) -> None:
        self._wanted = fault
        self._attempt = attempt
        self._left = limit
        self._limit = limit

    def run(self, case: MergeCase) -> Shrunk | None:
        case = replace(case, recipe=None)
        found = self._fails(case)
        if found is None:
            return None
        progress = True
        while progress and self._left > 0:
            progress = False
            for passes in (_fewer_rows, _plainer, _fewer_segments, _simpler_numbers):
                case, found, better = self._exhaust(passes, case, found)
                progress = progress or better
        return Shrunk(case=case, fault=found, attempts=self._limit - self._left)

    def _exhaust(self, passes: _Pass, case: MergeCase, found: Fault) -> tuple[MergeCase, Fault, bool]:
        """Take the first smaller case that fails, from there again, until none does."""
        better = False
        candidates = passes(case, found)
        while (smaller := next(candidates, None)) is not None and self._left > 0:
            fault = self._fails(smaller)
            if fault is not None:
                case, found, better = smaller, fault, True
                candidates = passes(case, found)
        return case, found, better

    def _fails(self, case: MergeCase) -> Fault | None:
        self._left -= 1
        for fault in self._attempt(case):
            if fault.alike == self._wanted.alike and fault.severity >= _KEEP * self._wanted.severity:
                return fault
        return None


_Pass = Callable[[MergeCase, Fault], Iterator[MergeCase]]


def _fewer_rows(case: MergeCase, fault: Fault) -> Iterator[MergeCase]:
    """Keep the failing token, head and column; where there is no such place, halves."""
    place = (*(fault.where or ()), None, None, None)[:3]
    for axis, (size, index) in enumerate(zip((case.T, case.H, case.R), place, strict=True)):
        if size > 1:
            yield _take(case, axis, slice(index or 0, (index or 0) + 1))
            yield _take(case, axis, slice(0, size // 2))
            yield _take(case, axis, slice(size // 2, size))


def _take(case: MergeCase, axis: int, kept: slice) -> MergeCase:
    token, head, column = (kept if axis == i else slice(None) for i in range(3))
    return replace(
        case,
        segm_output=case.segm_output[token, head, :, column],
        segm_max=case.segm_max[token, head],
        segm_expsum=case.segm_expsum[token, head],
        seq_lens=case.seq_lens[token],
    )


def _plainer(case: MergeCase, fault: Fault) -> Iterator[MergeCase]:
    """Leave the memory layout, the narrow dtype and the long lengths behind."""
    if case.layout != "contiguous" or not case.segm_output.is_contiguous():
        yield case.contiguous()
    if case.out_dtype != "float32":
        yield replace(case, out_dtype="float32")
    if case.seq_lens.dtype != torch.int32 and bool((case.seq_lens.abs() < 2**31).all()):
        yield replace(case, seq_lens=case.seq_lens.to(torch.int32))


def _fewer_segments(case: MergeCase, fault: Fault) -> Iterator[MergeCase]:
    """Drop segments: all that are inactive, then one by one; or make the partition itself smaller."""
    if case.T != 1:
        return
    length, active = int(case.seq_lens[0]), int(case.active[0])
    dense = case.tile_size == 1 and length == case.S
    if not dense:
        yield _segments(case, list(range(max(active, 1))))
        yield _segments(case, list(range(case.S)))
        if length < 0:
            yield replace(case, seq_lens=torch.zeros_like(case.seq_lens))
        if case.tile_size > 1:
            yield replace(case, tile_size=1)
            yield replace(case, tile_size=case.tile_size // 2)
        for shorter in (1, case.S, length // 2, length - 1):
            if 0 < shorter < length:
                yield replace(case, seq_lens=torch.full_like(case.seq_lens, shorter))
        if case.S > 1:
            for kept in (1, case.S // 2, case.S - 1):
                yield _first_segments(case, kept)
    elif case.S > 1:
        for size in (case.S // 2, 1):
            for start in range(0, case.S, max(size, 1)):
                kept_indices = [i for i in range(case.S) if not start <= i < start + size]
                if kept_indices and size:
                    yield _segments(case, kept_indices)


def _segments(case: MergeCase, kept: list[int]) -> MergeCase:
    """Keep these segments, all of them active."""
    return replace(
        case,
        segm_output=case.segm_output[:, :, kept].contiguous(),
        segm_max=case.segm_max[:, :, kept].contiguous(),
        segm_expsum=case.segm_expsum[:, :, kept].contiguous(),
        seq_lens=torch.full_like(case.seq_lens, len(kept)),
        tile_size=1,
    )


def _first_segments(case: MergeCase, kept: int) -> MergeCase:
    """Keep the first segments and leave length and tile as they are."""
    return replace(
        case,
        segm_output=case.segm_output[:, :, :kept].contiguous(),
        segm_max=case.segm_max[:, :, :kept].contiguous(),
        segm_expsum=case.segm_expsum[:, :, :kept].contiguous(),
    )


def _simpler_numbers(case: MergeCase, fault: Fault) -> Iterator[MergeCase]:
    """Replace whole tensors, then single values, by simpler numbers."""
    for name, tensor in _values(case).items():
        if bool((tensor != 0.0).any()):
            yield _with(case, name, torch.zeros_like(tensor))
            if bool((tensor != 0.0).all() and (tensor != 1.0).any()):
                yield _with(case, name, torch.ones_like(tensor))
    for name, tensor in _values(case).items():
        flat = tensor.flatten()
        for index in range(min(flat.numel(), _MOST_VALUES)):
            for value in _simpler(float(flat[index])):
                changed = flat.clone()
                changed[index] = value
                yield _with(case, name, changed.reshape(tensor.shape))


def _values(case: MergeCase) -> dict[str, torch.Tensor]:
    return {"o": case.segm_output, "s": case.segm_expsum, "m": case.segm_max}


def _with(case: MergeCase, name: str, tensor: torch.Tensor) -> MergeCase:
    values = {**_values(case), name: tensor}
    return replace(
        case,
        segm_output=values["o"],
        segm_expsum=values["s"],
        segm_max=values["m"],
        domain=Domain.STRESS,  # no producer promises anything of these numbers
    )


def _simpler(value: float) -> Iterator[float]:
    """Yield the numbers simpler than this one, simplest first."""
    rank = _complexity(value)
    candidates = list(_SIMPLE)
    if math.isfinite(value) and value:
        mantissa, exponent = math.frexp(value)
        candidates += [math.ldexp(round(mantissa * 2**bits), exponent - bits) for bits in (1, 2, 4, 8, 16)]
        candidates.append(float(round(value)))
    for candidate in candidates:
        if abs(candidate) <= _MAX and _complexity(candidate) < rank:
            yield candidate


def _complexity(value: float) -> tuple[int, int, int]:
    """Order numbers by how easily a person takes them in: small integers, short fractions, the rest."""
    if value in _SIMPLE:
        return (0, _SIMPLE.index(value), 0)
    if not math.isfinite(value):
        return (1, 0, 0)
    numerator, denominator = abs(value).as_integer_ratio()
    significand = numerator >> ((numerator & -numerator).bit_length() - 1)
    return (2, significand.bit_length(), abs(math.frexp(value)[1]) + denominator.bit_length())
