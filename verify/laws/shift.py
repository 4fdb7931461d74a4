"""Adding an integer to every maximum of a row multiplies sums and weights by one power of two."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from fuzz.bits import Stream
from verify.laws.algebra import Algebra
from verify.laws.conditions import Segments, segments_of, sum_exactly, with_values
from verify.laws.evidence import Evidence
from verify.laws.law import Checked, Law, Trial
from verify.laws.nasty import chosen

STEPS: Final = (1, -1, 127, -126, 2, -3, 8, -8, 24, -40, 100, -100, 300, -500, 4096, -70000)
"""What may be added: each row takes the first, from a place of its own in this ring, that is exact for it."""


def _check(trial: Trial) -> Checked:
    evidence = Evidence("shift", trial)
    trial = evidence.sensitive() if trial.exact else trial
    case, segments = trial.case, segments_of(trial.case)
    added, fits = _step(case.segm_max, segments, Stream(seed=trial.seed))
    if not bool(fits.any()):
        return evidence.checked()
    moved, _ = sum_exactly(case.segm_max, added[..., None])
    here = segments.live & fits[..., None]
    variant = with_values(case, m=torch.where(here, moved, case.segm_max))
    said = "an integer added to the maxima of each row"
    returned = evidence.call(variant, said)
    if returned is not None:
        algebra = Algebra(trial, variant, returned)
        columns = fits[..., None].expand(returned.output.shape)
        evidence.demand(
            returned,
            said,
            algebra.output_times(torch.zeros_like(columns, dtype=torch.int64), columns),
            algebra.lse_plus(added, fits),
        )
    return evidence.checked()


def _step(m: Tensor, segments: Segments, stream: Stream) -> tuple[Tensor, Tensor]:
    """Choose what is added to each row, [T, H] int64, and say where there is a choice, [T, H] bool."""
    ring = torch.tensor(STEPS, device=m.device)
    first = chosen(stream, "shift", len(STEPS), segments.sound)
    added = torch.zeros_like(first)
    fits = torch.zeros_like(segments.sound)
    finite = torch.where(segments.live & segments.sound[..., None], m, 0.0)
    for place in range(len(STEPS)):
        step = ring[(first + place) % len(STEPS)]
        _, exact = sum_exactly(finite, step[..., None])
        usable = segments.sound & ~fits & (exact | ~segments.live).all(-1)
        added, fits = torch.where(usable, step, added), fits | usable
    return added, fits


LAW = Law(
    name="shift",
    promise="m + k for an integer k, exact in float32, leaves the output and adds k·ln 2 to the lse",
    check=_check,
)
