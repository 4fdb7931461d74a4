"""Make a case feel the order in which a kernel adds: rows whose exact sums leave nothing but its roundings.

Of random values another order of addition moves the last bits of a float64 sum, which no output shows. Here
partials cancel in pairs, so that the output is what rounding has left over, and a mass is 1 and so little
more that its logarithm is all that little, or nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from fuzz.bits import Stream, power_of_two
from fuzz.case import MergeCase
from verify.laws.conditions import Segments, segments_of
from verify.laws.nasty import chosen

FEWEST: Final = 3
"""Live segments of a row that can be added in orders that differ: a + b is b + a."""

# A value of the first size and one of the second have more bits from top to bottom than float64 holds, and
# the unit in the last place of the first is 2^-2: what rounding leaves is a number of any output format.
_LARGE, _SMALL, _SINGLE = 50, 18, -2
# Below half an ulp of 1 by themselves, and two of them above it: in float64, and in float32.
_SLIGHT: Final = (1.5 * 2.0**-54, 1.5 * 2.0**-54, 1.5 * 2.0**-54, 1.5 * 2.0**-25)


def sensitive_to_order(case: MergeCase, seed: int) -> MergeCase | None:
    """Return the case with half of its rows of three or more live segments sensitive to their order.

    Which segments are live, empty or inactive stays, and so do strides and all other rows. None where there
    is no such row, or where rows share memory.
    """
    segments = segments_of(case)
    rows = sensitive_rows(segments, seed).nonzero(as_tuple=True)
    copies = [
        copy for x in (case.segm_output, case.segm_max, case.segm_expsum) if (copy := _copy(x)) is not None
    ]
    if not len(rows[0]) or len(copies) < 3:
        return None
    for copy, values in zip(copies, _values(segments, case.R, rows, Stream(seed=seed)), strict=True):
        live = segments.live[rows]
        copy[rows] = torch.where(live if values.ndim == live.ndim else live[..., None], values, copy[rows])
    o, m, s = copies
    return replace(case, segm_output=o, segm_max=m, segm_expsum=s, recipe=None)


def sensitive_rows(segments: Segments, seed: int) -> Tensor:
    """Return the mask [T, H] of the rows of a case that become sensitive, or have become."""
    many = segments.live.sum(-1) >= FEWEST
    return many & (chosen(Stream(seed=seed), "order", 2, many) == 1)


def _values(
    segments: Segments, rank: int, rows: tuple[Tensor, ...], stream: Stream
) -> tuple[Tensor, Tensor, Tensor]:
    """Return o [N, S, R], m and s [N, S] of N rows: of n live segments, i and i + n/2 are a pair."""
    live = segments.live[rows]
    nth, count = live.long().cumsum(-1) - 1, live.sum(-1, keepdim=True)
    half = count // 2
    paired = nth < 2 * half
    pair = torch.where(paired, nth % half, half).clamp(min=0)

    # A sum of masses shows in the lse where it is 1 and a little: all weights are 1, and the 1 comes first or
    # last. In the other rows weights have all the bits there are, which change with the M they are scaled by.
    plain = (chosen(stream, "order plain", 2, segments.top)[rows] == 1)[:, None]
    m = -3.0 * _odd(chosen(stream, "order m", 1 << 22, segments.live)[rows].gather(-1, pair))
    first = torch.where(chosen(stream, "order first", 2, segments.top)[rows][:, None] == 1, 0, count - 1)
    slight = torch.tensor(_SLIGHT, device=live.device)
    slight = slight[chosen(stream, "order slight", len(_SLIGHT), segments.top)[rows]][:, None]
    s = torch.where(plain, torch.where(nth == first, 1.0, slight), 1.0)
    m = torch.where(plain, 0.0, m)

    exponent = torch.where(paired, torch.where(pair % 2 == 0, _LARGE, _SMALL), _SINGLE)
    size = torch.where(nth < half, 1.0, -1.0) * power_of_two(exponent)
    # Words of segments and columns times an odd one of the row: other bits everywhere, for few words.
    word = stream.words("order o", live.shape[-1], rank).to(live.device)[pair]
    word = word * (2 * chosen(stream, "order row", 1 << 20, segments.top)[rows] + 1)[:, None, None]
    o = (1.0 + _odd((word >> 20) & ((1 << 22) - 1))) * size[..., None]
    return o.float(), m.float(), s.float()


def _odd(words: Tensor) -> Tensor:
    """Return fractions of 23 bits, of which the last is set, from words of 22 bits; float64."""
    return (2 * words + 1).double() * 2.0**-23


def _copy(values: Tensor) -> Tensor | None:
    """Copy a tensor with its strides and what lies between; None where elements share memory."""
    steps = [(n - 1, stride) for n, stride in zip(values.shape, values.stride(), strict=True) if n > 1]
    if values.numel() == 0 or any(stride == 0 for _, stride in steps):
        return None
    offset = values.storage_offset()
    reached = offset + 1 + sum(last * stride for last, stride in steps)
    memory = values.as_strided((reached,), (1,), 0).clone()
    return memory.as_strided(values.shape, values.stride(), offset)
