"""Where every segment has the same mean, that mean is the output."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.bits import Stream, power_of_two
from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.laws.conditions import multiply_exactly, segments_of, with_values
from verify.laws.demand import Demand
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import chosen
from verify.laws.tolerance import Tolerance

_BITS = 12
"""Significand bits that c and a shortened s may have each, as float32 holds 24 of their product."""
_FARTHEST = 20  # exponents of c, where the format has them: c·s seldom overflows then


def _check(trial: Trial) -> Checked:
    evidence = Evidence("constant", trial)
    case, segments, stream = trial.case, segments_of(trial.case), Stream(seed=trial.seed)
    # In half of the rows s is kept and c a power of two; in the others s is shortened and c is not.
    short = segments.sound & (chosen(stream, "constant short", 2, segments.sound) == 1)
    s = torch.where(short[..., None] & segments.live, _shortened(case.segm_expsum), case.segm_expsum)
    c = _constants(short, case, FORMATS[case.out_dtype], stream)
    finite = torch.where(segments.live & segments.sound[..., None], s, 1.0)
    product, exact = multiply_exactly(c[:, :, None], finite[..., None])
    live = segments.live[..., None]
    fits = segments.sound[..., None] & (exact | ~live).all(2)
    if not bool(fits.any()):
        return evidence.checked()
    o = torch.where(live & fits[:, :, None], product, case.segm_output)
    variant = with_values(case, s=s, o=o)
    said = "o = c·s in every live segment"
    returned = evidence.call(variant, said)
    if returned is not None:
        allowed = None
        if not trial.exact:
            tolerance = Tolerance(variant, trial.bounds)
            allowed, fits = tolerance.output(returned.output), fits & tolerance.outputs
        demand = Demand(result="output", want=c.double(), source="c is", allowed=allowed, mask=fits)
        evidence.demand(returned, said, demand)
    return evidence.checked()


def _shortened(s: Tensor) -> Tensor:
    """Drop the low bits of s, but never all that it has."""
    short = (s.contiguous().view(torch.int32) & ~0xFFF).view(torch.float32)
    return torch.where(short == 0, s, short)


def _constants(short: Tensor, case: MergeCase, fmt: Format, stream: Stream) -> Tensor:
    """Choose c of each column [T, H, R], a normal number of the format with at most _BITS bits, float32."""
    shape = (case.T, case.H, case.R)
    bits = min(_BITS, fmt.precision)
    fraction = stream.below("constant f", 1 << (bits - 1), *shape).to(short.device)
    significand = 1.0 + torch.where(short[..., None], fraction, 0).double() * 2.0 ** (1 - bits)
    # Below 2^emax there is every significand.
    low, high = max(fmt.emin, -_FARTHEST), min(fmt.emax - 1, _FARTHEST)
    exponent = stream.span("constant e", low, high, *shape).to(short.device)
    sign = stream.signs("constant ±", *shape).to(short.device)
    return (sign * significand * power_of_two(exponent)).float()


LAW = Law(
    name="constant",
    promise="o = c·s in every live segment, c in the output format, gives c",
    check=_check,
)
