"""What to put where nothing may be read: segments full of trouble, and every way to write an empty one."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from fuzz.bits import Stream
from fuzz.case import MergeCase
from verify.laws.conditions import with_values

_NAN, _INF, _HUGE = float("nan"), float("inf"), 3.0e38

NASTY: Final = (
    (_NAN, _NAN, _NAN),
    (_INF, _INF, _INF),
    (0.0, 0.0, 0.0),
    (_HUGE, _HUGE, -_HUGE),
    (1.0, 2.0, 3.0),
    (_NAN, 1.0, 1.0),
    (130.0, 1.0e-40, -_INF),
    (-_HUGE, -1.0, _NAN),
    (-_INF, 1.0, 0.0),
    (2.0, 1.0, _INF),
)
"""m, s and o of segments that spoil any row they are counted in, or at least change it."""

EMPTIES: Final = (
    (-_INF, 1.0, 0.0),
    (0.0, 0.0, 0.0),
    (-_INF, _NAN, _NAN),
    (-_INF, _INF, _INF),
    (_HUGE, 0.0, _NAN),
    (_INF, -0.0, -_INF),
    (-_INF, -1.0, _HUGE),
    (-_INF, 0.0, 1.0),
    (130.5, 0.0, 7.0),
    (-300.0, -0.0, 1.0e30),
)
"""m, s and o of empty segments: those that producers write first, then others that the definition covers."""


def chosen(stream: Stream, label: str, limit: int, like: Tensor) -> Tensor:
    """Return integers in 0 … limit − 1, int64, of a tensor's shape and on its device."""
    return stream.below(label, limit, *like.shape).to(like.device)


def written_over(
    case: MergeCase, where: Tensor, table: tuple[tuple[float, float, float], ...], choice: Tensor
) -> MergeCase:
    """Return the case with the segments `where` [T, H, S] replaced by those of a table at `choice`."""
    m, s, o = torch.tensor(table, dtype=torch.float32, device=where.device)[choice].unbind(-1)
    return with_values(
        case,
        m=torch.where(where, m, case.segm_max),
        s=torch.where(where, s, case.segm_expsum),
        o=torch.where(where[..., None], o[..., None], case.segm_output),
        lengths=case.seq_lens.contiguous(),
    )
