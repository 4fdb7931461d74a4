"""The worst points of a unit as a case of their own, judged again by the whole oracle."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.campaign.pool import InternalError
from verify.oracle.values import ExactValues
from verify.subjects.call import call_subject
from verify.subjects.load import Subject
from verify.sweep.measure import exact_values
from verify.sweep.plan import Unit
from verify.sweep.settle import from_oracle
from verify.ulp import error_ulp

KEPT = 16
"""Worst points of a unit, of different cells each."""
_SAME = 2.0**-11  # ulp: both exact values are known to 2^-12


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One point, merged in a row of its own."""

    point: int
    m: tuple[str, ...]
    """Of the active segments, float32 in hexadecimal."""
    s: tuple[str, ...]
    """Likewise."""
    o: tuple[str, ...]
    """Likewise."""
    length: int
    got: float
    exact: float
    """Correctly rounded."""
    ulp: float
    """Signed error; NaN where no arithmetic can tell it."""

    @property
    def inputs(self) -> str:
        """The numbers that matter, for people."""
        if len(self.m) > 2:
            return f"L = {self.length}"
        return f"m {', '.join(self.m)}; s {', '.join(self.s)}; o {', '.join(self.o)}"


def look_again(subject: Subject, unit: Unit, points: list[int], device: str) -> tuple[MergeCase, list[Worst]]:
    """Return the worst points of one shape as a case, and what the kernel and the oracle say of each.

    Raises InternalError where the oracle and the sweep differ about an exact value.
    """
    probe = unit.probe
    some = torch.tensor(points, device=device)
    some = some[probe.shape(some) == probe.shape(some[:1])]
    case = probe.case(some, unit.dtype)
    fmt = FORMATS[unit.dtype if probe.result == "output" else "float32"]
    exact = from_oracle(case, probe.result)
    mine, _ = exact_values(probe, some, unit.dtype, fmt)
    _compare(unit, some, mine, exact)
    returned = call_subject(subject, case).returned
    if returned is None:
        return case, []
    got = getattr(returned, probe.result).flatten()
    errors = error_ulp(got, exact, fmt).tolist()
    active = case.active.tolist()
    found = []
    for i, (value, rounded) in enumerate(zip(got.double().tolist(), exact.rounded.tolist(), strict=True)):
        m, s, o = (
            tuple(_hex(x) for x in tensor[i, 0].flatten()[: active[i]].tolist())
            for tensor in (case.segm_max, case.segm_expsum, case.segm_output)
        )
        found.append(
            Worst(
                point=int(some[i]),
                m=m,
                s=s,
                o=o,
                length=int(case.seq_lens[i]),
                got=value,
                exact=rounded,
                ulp=errors[i],
            )
        )
    return case, found


def _hex(value: float) -> str:
    """Write a number in hexadecimal, without the zeros at its end."""
    return re.sub(r"\.?0*p", "p", float(value).hex())


def _compare(unit: Unit, points: Tensor, mine: ExactValues, other: ExactValues) -> None:
    same = (mine.kind == other.kind) & (mine.exponent == other.exponent)
    same &= (mine.rounded == other.rounded) | (mine.rounded.isnan() & other.rounded.isnan())
    same &= (mine.residual - other.residual).abs() <= _SAME
    if not bool(same.all()):
        at = int(points[~same][0])
        raise InternalError(
            f"{unit.name}: the oracle and the sweep differ about the exact value at point {at}"
        )
