"""With one live segment the output is o/s, and the lse the logarithm of that segment's mass."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fuzz.bits import Stream
from verify.laws.conditions import segments_of
from verify.laws.demand import Demand
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import EMPTIES, chosen, written_over
from verify.laws.tolerance import Tolerance

_LN2 = math.log(2.0)
_ROUNDED = 2.0**-51
"""Relative error of float64's quotient or logarithm, and to spare."""


def _check(trial: Trial) -> Checked:
    evidence = Evidence("single", trial)
    case, segments, stream = trial.case, segments_of(trial.case), Stream(seed=trial.seed)
    whole = segments.live & ~segments.broken
    rows = whole.any(-1)
    if not bool(rows.any()):
        return evidence.checked()
    rank = torch.where(whole, chosen(stream, "single", 1 << 32, whole), -1)
    alone = rank.argmax(-1)
    others = segments.live & (torch.arange(case.S, device=alone.device) != alone[..., None])
    encoding = chosen(stream, "single empties", len(EMPTIES), others)
    variant = written_over(case, others, EMPTIES, encoding)
    said = "all live segments but one emptied"
    returned = evidence.call(variant, said)
    if returned is None:
        return evidence.checked()
    m = case.segm_max.gather(-1, alone[..., None]).squeeze(-1).double()
    s = case.segm_expsum.gather(-1, alone[..., None]).squeeze(-1).double()
    column = alone[..., None, None].expand(case.T, case.H, 1, case.R)
    mean = case.segm_output.gather(2, column).squeeze(2).double() / s[..., None]
    log, uncertain = _logarithm(torch.where(rows, m, 0.0), torch.where(rows, s, 1.0))
    tolerance = Tolerance(variant, trial.bounds)
    evidence.demand(
        returned,
        said,
        Demand(
            result="output",
            want=mean,
            source="o/s is",
            allowed=tolerance.output(returned.output) + _ROUNDED * mean.abs().nan_to_num(0.0, 0.0),
            mask=rows[..., None] & tolerance.outputs,
        ),
        Demand(
            result="lse",
            want=log,
            source="ln s + m·ln 2 is",
            allowed=tolerance.lse(returned.lse) + uncertain,
            mask=rows & tolerance.lses,
        ),
    )
    return evidence.checked()


def _logarithm(m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Return ln(s · 2^m) of finite m and s > 0 in float64, and by how much it may be off.

    s = f·2^e with f in [√½, √2), and e joins the integer part of m before anything is rounded: what is left
    does not cancel, so that the error is relative to parts no larger than the result, or below one.
    """
    fraction, exponent = torch.frexp(s)
    low = fraction < math.sqrt(0.5)
    fraction, exponent = torch.where(low, 2 * fraction, fraction), exponent - low.long()
    whole = m.round()
    parts = ((whole + exponent) * _LN2, (m - whole) * _LN2, fraction.log())
    return sum(parts[1:], parts[0]), _ROUNDED * sum((part.abs() for part in parts[1:]), parts[0].abs())


LAW = Law(
    name="single",
    promise="a row with one live segment gives o/s, and ln s + m·ln 2, within the bounds",
    check=_check,
)
