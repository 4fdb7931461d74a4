"""A sound kernel by mpmath itself: four hundred bits, one output after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import torch
from mpmath import mp
from torch import Tensor

from fuzz.formats import FORMATS, Format, round_to
from fuzz.partition import active_segments
from verify.museum.exhibit import Sound

_BITS = 400
"""Precision: a difference of two maxima takes 277 bits at most, and is exact."""


def merge_by_mpmath(
    segm_output: Tensor,
    segm_max: Tensor,
    segm_expsum: Tensor,
    seq_lens: Tensor,
    tile_size: int,
    out_dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Compute every output and lse in 400 bits and round once."""
    tokens, heads, segments, rank = segm_output.shape
    fmt = FORMATS[str(out_dtype).removeprefix("torch.")]
    output = torch.empty(tokens, heads, rank, dtype=torch.float64)
    lse = torch.empty(tokens, heads, dtype=torch.float64)
    for t, length in enumerate(seq_lens.tolist()):
        active = active_segments(length, segments, tile_size)
        for h in range(heads):
            m, s = segm_max[t, h, :active].tolist(), segm_expsum[t, h, :active].tolist()
            row, lse[t, h] = _row(m, s, segm_output[t, h, :active].T.tolist(), fmt)
            output[t, h] = torch.tensor(row, dtype=torch.float64)
    device = segm_output.device
    return output.to(out_dtype).to(device), lse.to(torch.float32).to(device)


def _row(
    m: list[float], s: list[float], columns: list[list[float]], fmt: Format
) -> tuple[list[float], float]:
    """Return the outputs and the lse of one row, situation by situation."""
    live = [i for i in range(len(m)) if m[i] != -math.inf and (s[i] != 0 or math.isnan(m[i]))]
    if not live:
        return [0.0] * len(columns), -math.inf
    if any(math.isnan(m[i]) or m[i] == math.inf or not 0 < s[i] < math.inf for i in live):
        return [math.nan] * len(columns), math.nan
    with mp.workprec(_BITS):
        top = max(m[i] for i in live)
        # A weight below 2^-700 cannot be seen in any sum.
        weights = {i: mp.power(2, mp.mpf(m[i]) - top) if m[i] - top > -700 else mp.zero for i in live}
        den = mp.fsum(weights[i] * s[i] for i in live)
        lse = _rounded(mp.log(den) + top * mp.ln2, FORMATS["float32"])
        return [_output([(weights[i], column[i]) for i in live], den, fmt) for column in columns], lse


def _output(terms: list[tuple[Any, float]], den: Any, fmt: Format) -> float:
    infinities = {x for _, x in terms if math.isinf(x)}
    if any(math.isnan(x) for _, x in terms) or len(infinities) > 1:
        return math.nan
    if infinities:
        return round_to(infinities.pop(), fmt)
    return _rounded(mp.fsum(weight * x for weight, x in terms) / den, fmt)


def _rounded(x: Any, fmt: Format) -> float:
    """Round a number of mpmath, which is an integer times a power of two, once."""
    sign, significand, exponent, _ = x._mpf_
    magnitude = Fraction(int(significand)) * Fraction(2) ** exponent
    return round_to(-magnitude if sign else magnitude, fmt)


by_mpmath = Sound(name="by_mpmath", merge=merge_by_mpmath, outputs=256)
