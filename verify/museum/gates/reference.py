"""What the gates compare with: the formula in torch, in float64, for finite values and for no mass."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fuzz.case import MergeCase


def expected(case: MergeCase) -> tuple[Tensor, Tensor]:
    """Return y [T, H, R] and the natural lse [T, H], both float64; 0 and −∞ for a row without mass."""
    o, m, s = case.segm_output.double(), case.segm_max.double(), case.segm_expsum.double()
    written = torch.arange(case.S, device=o.device) < case.active[:, None, None]
    m = torch.where(written, m * math.log(2), -torch.inf)
    lse = torch.logsumexp(m + s.log(), -1)
    share = (m - torch.where(lse.isinf(), 0.0, lse)[..., None]).exp()
    return (share[..., None] * o).sum(2), lse
