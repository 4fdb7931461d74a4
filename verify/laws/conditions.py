"""Which segments and rows the laws speak of, and float arithmetic that tells whether it was exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fuzz.bits import scale_by_power
from fuzz.case import MergeCase

FARTHEST = 512.0
"""Largest |m − M| of a live segment in a row of which the exact algebra speaks."""


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The state of every segment and row of a case, by the definitions of the merge."""

    inactive: Tensor
    """[T, H, S] bool: never written by the producer."""
    empty: Tensor
    """[T, H, S] bool: active, without mass."""
    live: Tensor
    """[T, H, S] bool: active, not empty."""
    broken: Tensor
    """[T, H, S] bool: live, with NaN in m or s, m = +inf, s < 0 or s = +inf."""
    top: Tensor
    """[T, H] float32: M, the largest maximum of a live segment; −inf where there is none."""
    sound: Tensor
    """[T, H] bool: the row has a live segment, none is broken, and every |m − M| is at most 512."""


def segments_of(case: MergeCase) -> Segments:
    """Sort out the segments of a case."""
    m, s = case.segm_max, case.segm_expsum
    active = (torch.arange(case.S, device=m.device) < case.active[:, None, None]).expand(m.shape)
    without = (m == -torch.inf) | ((s == 0) & ~m.isnan())
    live = active & ~without
    broken = live & (m.isnan() | s.isnan() | (m == torch.inf) | (s < 0) | (s == torch.inf))
    top = torch.where(live, m, -torch.inf).amax(-1)
    # A difference that is rounded here is rounded monotonically, and 512 is a value of float64.
    near = ~live | (top[..., None].double() - m.double() <= FARTHEST)
    sound = live.any(-1) & ~broken.any(-1) & near.all(-1)
    return Segments(inactive=~active, empty=active & without, live=live, broken=broken, top=top, sound=sound)


def with_values(
    case: MergeCase,
    *,
    o: Tensor | None = None,
    m: Tensor | None = None,
    s: Tensor | None = None,
    lengths: Tensor | None = None,
) -> MergeCase:
    """Return the case with some of its tensors replaced, no longer of any recipe or layout."""
    return replace(
        case,
        segm_output=case.segm_output if o is None else o,
        segm_max=case.segm_max if m is None else m,
        segm_expsum=case.segm_expsum if s is None else s,
        seq_lens=case.seq_lens if lengths is None else lengths,
        layout="contiguous",
        recipe=None,
    )


def longest_length(case: MergeCase) -> int:
    """Return the least length with which all segments are active, or the largest there is."""
    return min(case.S * case.tile_size, torch.iinfo(case.seq_lens.dtype).max)


def sum_exactly(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return a + b in float32, for finite a and b, and the mask of sums that are exact.

    Knuth's TwoSum gives the rounding error of a float64 sum without error; float32's shows by widening.
    """
    a, b = a.double(), b.double()
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)
    narrow = total.float()
    return narrow, (error == 0) & (narrow.double() == total)


def scale_exactly(values: Tensor, exponents: Tensor) -> tuple[Tensor, Tensor]:
    """Return float32 values · 2^e, |e| ≤ 300, and the mask of those that are exact, NaN and ±inf included.

    In float64 the product is exact: 24 bits, between 2^-149-300 and 2^128+300. Narrowing shows by widening.
    """
    wide = scale_by_power(values, exponents)
    narrow = wide.float()
    return narrow, (narrow.double() == wide) | wide.isnan()


def multiply_exactly(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return a · b of finite float32 values in float32, and the mask of products that are exact.

    In float64 the product is exact: 48 bits, between 2^-298 and 2^256. Narrowing shows by widening.
    """
    wide = a.double() * b.double()
    narrow = wide.float()
    return narrow, narrow.double() == wide
