"""Partials whose exact quotient is a chosen number.

With integer maxima and masses that are powers of two adding up to one, a row's quotient is the plain sum of
its segments' shares. Two segments hold the number's high and low bits; the others come in pairs of opposite
shares, which cancel exactly in real arithmetic and in no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fuzz.bits import exponent_of, scale_by_power
from fuzz.draft import Draft
from fuzz.formats import Format

_LOW_BITS = (1 << 29) - 1
"""The bits of a float64 significand that float32 has no room for."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Which part each segment of a row plays, dealt by the hash."""

    number: torch.Tensor
    """Slot of each used segment, 0 … count − 1, [T, H, S] int64; beyond count where it is not used."""
    count: torch.Tensor
    """Used segments of each row, [T, H, 1] int64."""


def deal(draft: Draft, used: torch.Tensor, label: str) -> Slots:
    """Return a shuffle of the used segments [T, H, S] of each row."""
    words = draft.stream.words(f"{label} slots", *draft.stat_shape) >> 1
    last = torch.iinfo(torch.int64).max
    order = torch.where(used, words, last).argsort(dim=-1, stable=True)
    return Slots(number=order.argsort(dim=-1, stable=True), count=used.sum(dim=-1, keepdim=True))


def ulp_exponent(target: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return e with 2^e the distance of neighbours of the format around each target, int64."""
    return exponent_of(target).clamp_min(fmt.emin) - fmt.precision + 1


def place(draft: Draft, target: torch.Tensor, used: torch.Tensor, *, noise: torch.Tensor, label: str) -> None:
    """Write m, s, o of the used segments [T, H, S] so that their quotient is `target` [T, H, R] exactly.

    The targets are float64 of at most 48 significant bits and multiples of 2^-165; a row with one used
    segment gets the target cut to 24 bits. The cancelling shares are about 2^noise, [T, H, R] int64, clipped
    to where float32 holds them. Rows with a target above 2^90 must have none below 2^-60.
    """
    slots = deal(draft, used, label)
    stream = draft.stream
    # Masses 1/n or 2/n, n the power of two at or above the count: n − count doubled ones make the sum 1.
    log_n = exponent_of((2 * slots.count - 1).clamp_min(1).to(torch.float64))
    doubled = (slots.number < (1 << log_n) - slots.count).to(torch.int64)
    mass = doubled - log_n
    shift = stream.span(f"{label} shift", -6, 6, *draft.stat_shape)
    level = stream.span(f"{label} level", -40, 40, *draft.row_shape)[..., None]
    # All of a row is scaled together, so that float32 holds targets beyond its range or among its subnormals.
    largest = exponent_of(target.abs().amax(dim=-1, keepdim=True))
    smallest = exponent_of(target.abs().amin(dim=-1, keepdim=True))
    scale = stream.span(f"{label} scale", -8, 8, *draft.row_shape)[..., None]
    scale = torch.where(largest > 90, 70 - largest, torch.where(smallest < -90, scale + 32, scale))

    share = _shares(draft, target, slots, noise, scale, label)
    draft.m = torch.where(used, (level + shift).to(torch.float64), draft.m)
    weight = scale_by_power(torch.ones(draft.stat_shape, dtype=torch.float64), mass - shift + scale)
    draft.s = torch.where(used, weight, draft.s)
    scaled = scale_by_power(share, (scale - shift)[..., None])
    draft.o = torch.where(used[..., None], scaled, draft.o)


def _shares(
    draft: Draft, target: torch.Tensor, slots: Slots, noise: torch.Tensor, scale: torch.Tensor, label: str
) -> torch.Tensor:
    high = (target.view(torch.int64) & ~_LOW_BITS).view(torch.float64)
    low = target - high
    number = slots.number[..., None]
    share = torch.zeros(draft.shape, dtype=torch.float64)
    share = torch.where(number == 0, high[:, :, None], share)
    share = torch.where(number == 1, low[:, :, None], share)
    # Slots 2k and 2k + 1 hold opposite numbers, drawn by k; an odd one at the end stays at zero.
    pair = (slots.number // 2).clamp_max(draft.shape[2] - 1)[..., None].expand(draft.shape)
    size = draft.stream.spread(f"{label} noise", -2, 1, *draft.shape)
    # With a shift of at most 6 this ends below 2^127, and its last bit at 2^-149 or above.
    lift = torch.maximum(torch.minimum(noise, 118 - scale), -116 - scale)[:, :, None]
    opposite = scale_by_power(torch.gather(size, 2, pair), lift.expand(draft.shape))
    opposite = torch.where(number % 2 == 0, opposite, -opposite)
    paired = (slots.number >= 2) & ((slots.number | 1) < slots.count)
    return torch.where(paired[..., None], opposite, share)
