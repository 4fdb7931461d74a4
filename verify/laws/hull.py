"""A weighted mean lies between the smallest and the largest of what it is a mean of."""

from __future__ import annotations

import torch

from fuzz.formats import FORMATS
from verify.laws.conditions import segments_of
from verify.laws.demand import Demand
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.tolerance import Tolerance, numeric

_ROUNDED = 2.0**-52
"""Relative error of a quotient of float32 values in float64, and to spare."""


def _check(trial: Trial) -> Checked:
    evidence = Evidence("hull", trial)
    case, segments, got = trial.case, segments_of(trial.case), trial.returned.output
    low = torch.full(got.shape, torch.inf, dtype=torch.float64, device=got.device)
    high, finite = -low, segments.sound[..., None].expand(got.shape)
    # One segment at a time: all at once would take twice the memory of o.
    for i in range(case.S):
        live, o = segments.live[:, :, i, None], case.segm_output[:, :, i]
        mean = o.double() / case.segm_expsum[:, :, i, None].double()
        low = torch.where(live, torch.minimum(low, mean), low)
        high = torch.where(live, torch.maximum(high, mean), high)
        finite = finite & (~live | o.isfinite())
    tolerance, fmt = Tolerance(case, trial.bounds), FORMATS[case.out_dtype]
    finite = finite & tolerance.outputs
    low, high = low - _ROUNDED * low.abs(), high + _ROUNDED * high.abs()
    allowed, value = tolerance.output(got), numeric(got, fmt)
    below, above = numeric(low, fmt), numeric(high, fmt)
    # What lies inside, or is NaN, is asked for itself or for the nearer end.
    want = torch.where(value < below, below, torch.where(value > above, above, value))
    want = torch.where(value.isnan(), below, want)
    said = "each segment's o / s at hand"
    evidence.demand(
        trial.returned,
        said,
        Demand(result="output", want=want, source="their range ends at", allowed=allowed, mask=finite),
    )
    return evidence.checked()


LAW = Law(
    name="hull",
    promise="the output lies between the smallest and the largest o/s of its live segments, within its bound",
    check=_check,
)
