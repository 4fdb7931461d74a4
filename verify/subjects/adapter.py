"""Hand a case to a kernel in the form that its convention declares, and turn its results back."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.laws.conditions import segments_of
from verify.subjects.convention import Convention, Lengths
from verify.subjects.recast import partial_format

_SIDES = {"a": 0, "b": 1}


def inputs_of(case: MergeCase, convention: Convention) -> dict[str, Any]:
    """Return what each parameter of the kernel gets, in order, results apart; the case has been recast.

    Tensors may share memory with the case. Those whose axes the convention has in another order are
    contiguous in that order if the case's own are, and strided otherwise.
    """
    values: dict[str, Any] = {"tile": case.tile_size, "dtype": FORMATS[case.out_dtype].torch_dtype}
    if convention.lengths is Lengths.TOKEN:
        values["lengths"] = case.seq_lens
    elif convention.lengths is Lengths.SEQUENCE:
        values["lengths"], values["starts"] = _sequences(case.seq_lens)
    o = case.segm_output
    if convention.normalised:
        statistics = {"l": _lse(case, convention)}
        o = o.to(partial_format(case, convention).torch_dtype)
    else:
        statistics = {"m": case.segm_max, "s": case.segm_expsum}
    for name, value in statistics.items():
        values |= _arranged(name, value, "ths", convention.statistics, convention.stored)
    values |= _arranged("o", o, "thsr", convention.partials, "")
    return {name: values[of] for name, of in convention.parameters.items() if of in values}


def shapes_of(case: MergeCase, convention: Convention) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the results that the kernel gives, `lse` only where it gives one."""
    sizes = {"t": case.T, "h": case.H, "r": case.R, "1": 1}
    shapes = {"output": tuple(sizes[axis] for axis in convention.output)}
    if convention.lse_base is not None:
        shapes["lse"] = tuple(sizes[axis] for axis in convention.lse)
    return shapes


def output_of(values: Tensor, convention: Convention) -> Tensor:
    """Return what has the shape of the kernel's output as [T, H, R]."""
    return _turned(values, convention.output, "thr")


def lse_of(values: Tensor, convention: Convention) -> Tensor:
    """Return what has the shape of the kernel's lse as [T, H]."""
    return _turned(values, convention.lse, "th")


def unmarked(case: MergeCase, output: Tensor, lse: Tensor, convention: Convention) -> tuple[Tensor, Tensor]:
    """Return output [T, H, R] and lse [T, H] with 0 and −inf for what marks a row without mass.

    Only there, and only for what it declares: all else is the kernel's own, and for the judge.
    """
    if convention.massless_output == (0.0,) and convention.massless_lse == (-math.inf,):
        return output, lse
    massless = ~segments_of(case).live.any(-1)
    return (
        _replaced(output, massless[..., None], convention.massless_output, 0.0),
        _replaced(lse, massless, convention.massless_lse, -math.inf),
    )


def _replaced(values: Tensor, where: Tensor, marks: tuple[float, ...], by: float) -> Tensor:
    wide = values.double()
    marked = torch.zeros_like(wide, dtype=torch.bool)
    for mark in marks:
        marked |= wide.isnan() if math.isnan(mark) else wide == mark
    # Not every device can select among fp8 values.
    return torch.where(where & marked, by, wide).to(values.dtype) if bool((where & marked).any()) else values


def _sequences(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the length of each run of equal ones, and the token where each begins, and the last ends."""
    tokens = lengths.numel()
    first = torch.ones(tokens, dtype=torch.bool, device=lengths.device)
    first[1:] = lengths[1:] != lengths[:-1]
    starts = torch.cat((first.nonzero().flatten(), torch.tensor([tokens], device=lengths.device)))
    return lengths[first], starts.to(torch.int32)


def _lse(case: MergeCase, convention: Convention) -> Tensor:
    """Return l [T, H, S]; each kind of empty segment is told by the marker that `recast` says."""
    m, s = case.segm_max, case.segm_expsum
    marker = torch.full_like(m, -torch.inf)
    if math.inf in convention.empty:
        marker = torch.where(s == 0, torch.inf, marker)
    if any(map(math.isnan, convention.empty)):
        marker = torch.where(s.isnan(), torch.nan, marker)
    live = segments_of(case).live
    return m if bool(live.all()) else torch.where(live, m, marker)


def _arranged(name: str, values: Tensor, ours: str, theirs: str, stored: str) -> dict[str, Tensor]:
    """Return a tensor of all segments by its name, or of each of two as `name_a` and `name_b`."""
    if "s" in theirs:
        return {name: _stored(values, ours, theirs, stored)}
    axis, left = ours.index("s"), ours.replace("s", "")
    return {
        f"{name}_{side}": _stored(values.select(axis, i), left, theirs, stored, dense=values.is_contiguous())
        for side, i in _SIDES.items()
    }


def _stored(values: Tensor, ours: str, theirs: str, stored: str, *, dense: bool = False) -> Tensor:
    if not (dense or values.is_contiguous()):
        return _turned(values, ours, theirs)
    stored = stored or theirs
    return _turned(_turned(values, ours, stored).contiguous(), stored, theirs)


def _turned(values: Tensor, ours: str, theirs: str) -> Tensor:
    """Permute axes, and add or drop those of one element, which stand for nothing."""
    if ours == theirs:
        return values
    for axis in reversed([i for i, letter in enumerate(ours) if letter == "1"]):
        values = values.squeeze(axis)
    ours = ours.replace("1", "")
    values = values.permute([ours.index(letter) for letter in theirs if letter != "1"])
    for axis in [i for i, letter in enumerate(theirs) if letter == "1"]:
        values = values.unsqueeze(axis)
    return values
