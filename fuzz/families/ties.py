"""Quotients that lie halfway between two values of the output format, and the smallest step beside it."""

from __future__ import annotations

import math
from typing import Final

import torch

from fuzz.bits import exponent_of, power_of_two, scale_by_power
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.formats import Format
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice
from fuzz.targets import place, ulp_exponent

KINDS: Final = ("exact", "adjacent", "perturbed", "constant", "binomial")
"""Exactly halfway; halfway ± 2^-16 ulp; halfway ± what a tiny weight moves; halfway with irrational weights,
as all o_i = c·s_i; and halfway ± Σ (−1)^j C(n, j) 2^(j·2^-149), which is below 2^-140n."""

GAPS: Final = (60.0, 130.0, 150.0, 500.0, 1100.0, 1048576.0, 1.0e9, 3.0e38)
"""How far the perturbing segment's maximum lies below the others'."""

_MAX_ORDER: Final = 18
_SUBNORMAL: Final = 2.0**-149


def halfway(draft: Draft) -> torch.Tensor:
    """Return numbers [T, H, R] halfway between two neighbours of the output format, subnormal ones too."""
    fmt, stream, shape = draft.format, draft.stream, (*draft.row_shape, draft.recipe.rank)
    top = 1 << fmt.precision
    significand = stream.span("tie n", top // 2, top - 1, *shape)
    # Next to a power of two the neighbours lie at different distances, and carries run furthest.
    edge = stream.below("tie edge", 8, *shape)
    significand = torch.where(edge == 0, top - 1, torch.where(edge == 1, top // 2, significand))
    exponent = stream.span("tie e", max(fmt.emin, -40), min(fmt.emax - 1, 40), *shape)
    small = stream.below("tie small", 4, *shape) == 0
    significand = torch.where(small, stream.below("tie subnormal", top // 2, *shape), significand)
    exponent = torch.where(small, fmt.emin, exponent)
    twice = (2 * significand + 1).to(torch.float64)
    return stream.signs("tie ±", *shape) * scale_by_power(twice, exponent - fmt.precision)


def _perturb(draft: Draft, target: torch.Tensor, last: torch.Tensor) -> None:
    """Make the segments `last` [T, H, S] a perturbation: a numerator whose own mass is smaller still."""
    lowest = torch.where(draft.written & ~last, draft.m, torch.inf).amin(dim=-1, keepdim=True)
    gap = draft.stream.one_of("perturbation gap", GAPS, *draft.row_shape)[..., None]
    draft.m = torch.where(last, (lowest - gap).clamp_min(-3.4e38), draft.m)
    draft.s = torch.where(last, _SUBNORMAL, draft.s)
    size = power_of_two(exponent_of(target).clamp(-120, 120))
    size = size * draft.stream.signs("perturbation ±", *target.shape)
    draft.o = torch.where(last[..., None], size[:, :, None], draft.o)


def _constant(draft: Draft, target: torch.Tensor, rows: torch.Tensor) -> None:
    """Write o_i = c·s_i over maxima that are no integers; float32 has ties so only among subnormals."""
    fmt, stream = draft.format, draft.stream
    here = draft.written & rows[..., None]
    if fmt.precision == 24:
        odd = 2 * stream.below("constant odd", 1 << 9, *target.shape) + 1
        value = odd.to(torch.float64) * power_of_two(torch.tensor(-150))
        bits = 12
    else:
        value, bits = target, 24 - fmt.precision - 1
    mass = 2.0 * (stream.below("constant s", 1 << (bits - 1), *draft.stat_shape) + 1).to(torch.float64)
    draft.m = torch.where(here, stream.unit("constant m", *draft.stat_shape) * 32 - 16, draft.m)
    draft.s = torch.where(here, mass, draft.s)
    draft.o = torch.where(here[..., None], value[:, :, None] * mass[..., None], draft.o)


def largest_order(fmt: Format) -> int:
    """Return the largest n whose (2^p + 2)·C(n, j) fit into the 24 bits of float32."""
    factor = 1 << (8 if fmt.precision == 24 else fmt.precision)
    fitting = (n for n in range(1, _MAX_ORDER + 1) if (factor + 2) * math.comb(n, n // 2) < 1 << 24)
    return max(fitting)


def _binomial(draft: Draft, rows: torch.Tensor) -> None:
    """Write m_j = j·2^-149, s_j = a·C(n, j), o_j = b·C(n, j) ± (−1)^j·C(n, j) with b/a halfway.

    In real arithmetic the alternating sum is (1 − 2^(2^-149))^n. float32 has its ties among subnormals: there
    a = 2 and b is an odd multiple of 2^-149.
    """
    fmt, stream = draft.format, draft.stream
    limit = largest_order(fmt)
    order = (draft.active.reshape(-1, 1, 1) - 1).clamp(0, limit)
    order = torch.minimum(order, stream.span("binomial n", 2, limit, *draft.row_shape)[..., None])
    table = torch.tensor([[math.comb(n, j) for j in range(_MAX_ORDER + 1)] for n in range(_MAX_ORDER + 1)])
    choose = table[order, draft.index.clamp_max(_MAX_ORDER)]
    choose = torch.where(draft.index <= order, choose, 0).to(torch.float64)
    columns = (*draft.row_shape, 1, draft.recipe.rank)
    if fmt.precision == 24:
        below, above = 2.0, 2.0 * stream.below("binomial b", 1 << 7, *columns).to(torch.float64) + 1
        unit = _SUBNORMAL
    else:
        below, unit = 2.0**fmt.precision, 1.0
        above = torch.full(columns, below + 1, dtype=torch.float64)
    side = (
        stream.signs("binomial side", *columns) * (1.0 - 2.0 * (draft.index % 2).to(torch.float64))[..., None]
    )
    outer = stream.signs("binomial ±", *columns) * unit
    here = draft.written & rows[..., None]
    draft.m = torch.where(here, draft.index.to(torch.float64) * _SUBNORMAL, draft.m)
    draft.s = torch.where(here, choose * below, draft.s)
    draft.o = torch.where(here[..., None], outer * (above + side) * choose[..., None], draft.o)


def _fill(draft: Draft) -> None:
    kind = draft.kind_of_row("kind", KINDS)
    target = halfway(draft)
    fine = power_of_two(ulp_exponent(target, draft.format) - 16)
    fine = target + fine * draft.stream.signs("adjacent ±", *target.shape)
    placed = torch.where((kind == KINDS.index("adjacent"))[..., None], fine, target)
    active = draft.active.reshape(-1, 1, 1)
    perturbed = (kind == KINDS.index("perturbed"))[..., None]
    last = (draft.index == active - 1) & (active > 1) & perturbed
    place(draft, placed, draft.written & ~last, noise=exponent_of(placed), label="tie")
    _perturb(draft, target, last)
    _constant(draft, target, kind == KINDS.index("constant"))
    _binomial(draft, kind == KINDS.index("binomial"))


FAMILY = Family(
    name="ties",
    domain=Domain.STRESS,
    promise="Each row with enough active segments has quotients exactly halfway between two values of the "
    "output format, or beside it by the step that the recipe's kind names.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
    shapes=Shapes(least_segments=2),
)
