"""Turn a case into the nearest one that a convention can say exactly.

What a convention has no room for is lost here, before anything is judged: oracle, judge and laws see the case
that comes out. A case that has been recast stays as it is when it is recast again, so that one that was
stored says what the kernel was given.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.laws.conditions import segments_of
from verify.oracle.target import Base
from verify.subjects.convention import Convention, Lengths

_TERMS = 12
"""Of the series of the logarithm: the first one left out is below 2^-60 of the sum."""


def recast(case: MergeCase, convention: Convention) -> MergeCase:
    """Return the case as the convention can say it, itself where it can be said as it is.

    A merge of two makes ceil(S / 2) tokens of one, each with two of its segments; an odd one is joined by an
    empty segment.
    """
    if convention.lengths is Lengths.NONE:
        case = _without_lengths(case)
    if convention.pair and case.S != 2:
        case = _paired(case)
    if convention.normalised:
        case = _normalised(case, convention)
    return case


def partial_format(case: MergeCase, convention: Convention) -> Format:
    """Return the format in which the convention has the partials of a case."""
    return FORMATS[case.out_dtype if convention.narrow else "float32"]


def _without_lengths(case: MergeCase) -> MergeCase:
    """Count every segment as written; one that was not is marked as empty."""
    if bool((case.active == case.S).all()):
        return case
    lengths = torch.full((case.T,), case.S, dtype=torch.int32, device=case.seq_lens.device)
    inactive = segments_of(case).inactive
    m = torch.where(inactive, -torch.inf, case.segm_max)
    s = torch.where(inactive, 1.0, case.segm_expsum)
    return replace(case, segm_max=m, segm_expsum=s, seq_lens=lengths, tile_size=1)


def _paired(case: MergeCase) -> MergeCase:
    odd = case.S % 2
    pairs = (case.S + odd) // 2
    tokens = case.T * pairs

    def cut(values: Tensor, filling: float) -> Tensor:
        if odd:
            more = torch.full_like(values[:, :, :1], filling)
            values = torch.cat((values, more), 2)
        apart = values.reshape(case.T, case.H, pairs, 2, *values.shape[3:]).transpose(1, 2)
        return apart.reshape(tokens, case.H, 2, *values.shape[3:]).contiguous()

    return replace(
        case,
        segm_output=cut(case.segm_output, 0.0),
        segm_max=cut(case.segm_max, -math.inf),
        segm_expsum=cut(case.segm_expsum, 1.0),
        seq_lens=torch.full((tokens,), 2, dtype=torch.int32, device=case.seq_lens.device),
        tile_size=1,
        layout="contiguous",
    )


def _normalised(case: MergeCase, convention: Convention) -> MergeCase:
    """Put l = m + log s in the place of m, 1 in that of s, and divide the partials; all rounded once.

    A marker is told as a producer's empty segment: −inf is (−inf, 1), +inf (0, 0) and NaN (−inf, NaN).
    """
    m, s, live = case.segm_max, case.segm_expsum, segments_of(case).live
    lse = (m.double() + _logarithm(s, convention.base)).float()
    infinite = torch.where(live, lse == torch.inf, s == 0) & (math.inf in convention.empty)
    none = torch.where(live, lse.isnan(), s.isnan()) & any(map(math.isnan, convention.empty))
    live = live & ~infinite & ~none
    one = torch.ones_like(m)
    empty_m = torch.where(infinite, 0.0, -torch.inf * one)
    empty_s = torch.where(infinite, 0.0, torch.where(none, torch.nan, one))
    o = torch.where(live[..., None], case.segm_output.double() / s.double()[..., None], case.segm_output)
    o = torch.where(case.segm_output.isfinite(), o.nan_to_num(0.0), o)
    return replace(
        case,
        segm_max=_kept(case.segm_max, torch.where(live, lse, empty_m)),
        segm_expsum=_kept(case.segm_expsum, torch.where(live, one, empty_s)),
        segm_output=_kept(case.segm_output, _rounded(o, partial_format(case, convention))),
    )


def _logarithm(s: Tensor, base: Base) -> Tensor:
    """Return log s in float64 with the same bits on every device, NaN for s < 0; 0 for s = 0 is never used.

    ln f = 2·artanh((f − 1) / (f + 1)) as a series, for the fraction f of s in [√½, √2).
    """
    finite = torch.where((s > 0) & (s < torch.inf), s, 1.0).double()
    fraction, power = torch.frexp(finite)
    low = fraction < math.sqrt(0.5)
    fraction, power = torch.where(low, 2 * fraction, fraction), power.double() - low.double()
    z = (fraction - 1) / (fraction + 1)
    square, series = z * z, torch.zeros_like(z)
    for k in reversed(range(_TERMS)):
        series = series * square
        series = series + 1 / (2 * k + 1)
    log = 2 * (z * series)
    log = power + log / math.log(2.0) if base is Base.TWO else power * math.log(2.0) + log
    return torch.where(s == torch.inf, torch.inf, torch.where((s < 0) | s.isnan(), torch.nan, log))


def _rounded(values: Tensor, fmt: Format) -> Tensor:
    """Round to a format, in float32; what overflows becomes the largest value, an infinity in fp8 too."""
    largest = values.clamp(-fmt.max_value, fmt.max_value)
    kept = values if not fmt.saturates else largest
    values = torch.where(values.isinf(), kept, largest)
    narrow = values.float().to(fmt.torch_dtype).float()
    # A format may lack −0; float32 has it, and a case must say what the kernel gets.
    return narrow if fmt.has_negative_zero else narrow + 0.0


def _kept(before: Tensor, after: Tensor) -> Tensor:
    """Return the tensor as it was, with its strides, where its values are what they have to be."""
    same = (before == after) & (before.signbit() == after.signbit()) | (before.isnan() & after.isnan())
    return before if bool(same.all()) else after
