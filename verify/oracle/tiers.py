"""The vectorised tiers for the outputs of a chunk of rows; each decides or hands on.

o is [n, S, R] float64, finite wherever its segment is live and 0 elsewhere. The bounds are derived in the
README of this package.
"""

from typing import NamedTuple

import torch

from verify.oracle.doubled import divide, exact_total, scale, total, two_sum
from verify.oracle.rounding import Rounded, nearest_edge, nudged, round_doubled, round_values, undecided
from verify.oracle.target import TargetFormat
from verify.oracle.weights import Weights

U = 2.0**-53
EPS_NUM = 2.0**-98
"""Error of a double-double numerator relative to Σ weight·|o|: powers, products and sums as in den."""

EPS_QUOTIENT = 2.0**-96
"""Relative error of a quotient of double-doubles beside that of its numerator: den 2^-97, division 2^-100."""

DROPPED = 2.0**-570
"""More than a dropped weight times the largest |o|."""


class Picked(NamedTuple):
    """Single outputs taken out of a chunk: k of them."""

    row: torch.Tensor
    """[k] int64: the row in the chunk."""
    column: torch.Tensor
    """[k] int64: the column."""
    o: torch.Tensor
    """[k, S] float64."""

    def only(self, mask: torch.Tensor) -> "Picked":
        """Return those where the mask is true."""
        return Picked(self.row[mask], self.column[mask], self.o[mask])


def gathered(parts: list[Picked]) -> Picked:
    """Return several as one."""
    if len(parts) == 1:
        return parts[0]
    return Picked(*(torch.cat(fields) for fields in zip(*parts, strict=True)))


def float64_tier(
    o: torch.Tensor, weights: Weights, rows: slice, fmt: TargetFormat
) -> tuple[Rounded, torch.Tensor, torch.Tensor]:
    """Return all outputs from float64 sums, where they are not certain, and Σ weight·|o|/den, [n, R] each."""
    den = weights.den[0][rows, None]
    share = (weights.weight[0][rows] / den)[:, None]
    y = _weighted_sum(share, o)
    magnitude = _weighted_sum(share, o.abs())
    segments = o.shape[1]
    slack = weights.dropped[rows, None] * DROPPED / den
    bound = magnitude * ((segments + 8) * U)
    if weights.dropped[rows].any():
        bound += slack * 2
    largest = float(magnitude.max()) if magnitude.numel() else 0.0
    found = round_values(y, fmt, largest)
    return found, undecided(y, found, bound, fmt), magnitude


def _weighted_sum(share: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
    """Return Σ share·o over segments, in any order, products fused or not; never through emulation."""
    if o.device.type == "cpu":
        return torch.bmm(share, o)[:, 0]
    y = torch.zeros(o.shape[0], o.shape[2], dtype=o.dtype, device=o.device)
    for segment in range(o.shape[1]):  # a GPU's matrix library may emulate float64 by narrower types
        y.addcmul_(share[:, :, segment], o[:, segment])
    return y


def doubled_tier(
    picked: Picked, weights: Weights, fmt: TargetFormat
) -> tuple[Rounded, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the picked outputs from double-double sums, [k] each.

    Also where they are doubtful, which of those are close to a boundary of rounding, and y itself as float64.
    """
    row = picked.row
    w0, w1, w2 = (piece[row] for piece in weights.pieces)
    num = total(scale((w0, w1, w2), picked.o))
    den = weights.den[0][row], weights.den[1][row]
    y = divide(num, den)
    magnitude = (w0 * picked.o.abs()).sum(-1)  # w0 is within 2^-25 of the weight
    bound = (magnitude * (EPS_NUM * 1.01) + weights.dropped[row] * DROPPED) / den[0]
    return *round_doubled(y, bound * 1.01 + y[0].abs() * EPS_QUOTIENT, fmt), y[0]


def comparing_tier(
    picked: Picked, guess: torch.Tensor, weights: Weights, fmt: TargetFormat
) -> tuple[Rounded, torch.Tensor]:
    """Compare the picked outputs with the multiple of half an ulp that they are close to, if possible.

    The sign of y − edge is that of Σ weight·(o − edge·s). Every difference is an exact double-double, for
    edge·s has at most 49 bits. Where it is 0, or its weight is a power of two, the product is exact too,
    and the sum tells whether it is. Returns what rounds as y does, and where that is still doubtful.
    """
    row = picked.row
    edge, _ = nearest_edge(guess, fmt)
    hi, lo = two_sum(picked.o, -(edge[:, None] * weights.mass[row]))
    weight = weights.weight[0][row]
    known = (((hi == 0) & (lo == 0)) | weights.whole[row] | ~weights.live[row]).all(-1)
    (hi, lo), exact = exact_total((hi * weight, lo * weight))
    side = torch.sign(torch.where(hi == 0, lo, hi))
    return round_values(nudged(edge, side), fmt), ~(known & exact)
