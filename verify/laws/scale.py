"""Multiplying a column of partials by a power of two multiplies the output there."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.bits import Stream, exponent_of
from fuzz.formats import FORMATS, Format
from verify.laws.algebra import Algebra
from verify.laws.conditions import scale_exactly, segments_of, with_values
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import chosen

_FARTHEST = 40  # farther, and some partial of the column hardly ever stays exact


def _check(trial: Trial) -> Checked:
    evidence = Evidence("scale", trial)
    trial = evidence.sensitive() if trial.exact else trial
    case, segments = trial.case, segments_of(trial.case)
    exponents, fits = _exponents(trial.returned.output, FORMATS[case.out_dtype], Stream(seed=trial.seed))
    scaled, exact = scale_exactly(case.segm_output, exponents[:, :, None])
    live = segments.live[..., None]
    fits &= segments.sound[..., None] & (exact | ~live).all(2)
    if not bool(fits.any()):
        return evidence.checked()
    changed = live & fits[:, :, None]
    variant = with_values(case, o=torch.where(changed, scaled, case.segm_output))
    said = "o of each column times a power of two"
    returned = evidence.call(variant, said)
    if returned is not None:
        algebra = Algebra(trial, variant, returned)
        evidence.demand(returned, said, algebra.output_times(exponents, fits), algebra.same_lse(fits.any(-1)))
    return evidence.checked()


def _exponents(output: Tensor, fmt: Format, stream: Stream) -> tuple[Tensor, Tensor]:
    """Choose e of each column, and say where output and output · 2^e both lie in [2^(emin + 1), max / 2]."""
    size = output.double().abs()
    own = exponent_of(size)
    usable = (size >= 2.0 ** (fmt.emin + 1)) & (size <= fmt.max_value / 2)
    # Below 2^(emax − 1), which is at most half of any format's largest value.
    low = (fmt.emin + 1 - own).clamp(-_FARTHEST, _FARTHEST)
    high = (fmt.emax - 2 - own).clamp(-_FARTHEST, _FARTHEST)
    usable &= low <= high
    word = chosen(stream, "scale", 1 << 20, output)
    exponents = torch.where(usable, low + word % (high - low + 1).clamp(min=1), 0)
    return exponents, usable & (exponents != 0)


LAW = Law(
    name="scale",
    promise="o·2^k multiplies the output by 2^k where neither leaves the normal range, and leaves the lse",
    check=_check,
)
