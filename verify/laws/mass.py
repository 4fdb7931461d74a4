"""Multiplying partials and masses of a row by one power of two leaves its output."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from fuzz.bits import Stream
from verify.laws.algebra import Algebra
from verify.laws.conditions import Segments, scale_exactly, segments_of, with_values
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import chosen

EXPONENTS: Final = (1, -1, 2, -3, 7, -10, 20, -24, 40, -45, 60, -64, 100, -100)
"""Exponents: each row takes the first, from a place of its own in this ring, that is exact for it."""


def _check(trial: Trial) -> Checked:
    evidence = Evidence("mass", trial)
    trial = evidence.sensitive() if trial.exact else trial
    case, segments = trial.case, segments_of(trial.case)
    exponents, fits = _exponent(case.segm_expsum, segments, Stream(seed=trial.seed))
    if not bool(fits.any()):
        return evidence.checked()
    s, _ = scale_exactly(case.segm_expsum, exponents[..., None])
    o, exact = scale_exactly(case.segm_output, exponents[..., None, None])
    here = segments.live & fits[..., None]
    variant = with_values(
        case,
        s=torch.where(here, s, case.segm_expsum),
        o=torch.where(here[..., None], o, case.segm_output),
    )
    said = "o and s of each row times a power of two"
    returned = evidence.call(variant, said)
    if returned is not None:
        # A column with a partial that was rounded says nothing; the others are none of its business.
        columns = fits[..., None] & (exact | ~segments.live[..., None]).all(2)
        algebra = Algebra(trial, variant, returned)
        evidence.demand(
            returned,
            said,
            algebra.output_times(torch.zeros_like(columns, dtype=torch.int64), columns),
            algebra.lse_plus(exponents, fits),
        )
    return evidence.checked()


def _exponent(s: Tensor, segments: Segments, stream: Stream) -> tuple[Tensor, Tensor]:
    """Choose the exponent of each row, [T, H] int64, and say where there is a choice, [T, H] bool."""
    ring = torch.tensor(EXPONENTS, device=s.device)
    first = chosen(stream, "mass", len(EXPONENTS), segments.sound)
    exponents, fits = torch.zeros_like(first), torch.zeros_like(segments.sound)
    for place in range(len(EXPONENTS)):
        exponent = ring[(first + place) % len(EXPONENTS)]
        _, exact = scale_exactly(s, exponent[..., None])
        usable = segments.sound & ~fits & (exact | ~segments.live).all(-1)
        exponents, fits = torch.where(usable, exponent, exponents), fits | usable
    return exponents, fits


LAW = Law(
    name="mass",
    promise="o and s times 2^k leave the output and add k·ln 2 to the lse",
    check=_check,
)
