"""Numbers below the smallest normal one, going in, in between and coming out."""

from __future__ import annotations

from typing import Final

import torch

from fuzz.bits import float32_pattern
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.lengths import LENGTHS
from fuzz.parameters import ROTATE, Choice
from fuzz.targets import place, ulp_exponent

KINDS: Final = ("inputs", "masses", "results", "lse")
"""o subnormal in float32; o and s both; results below 2^(emin + 1) of the output format; lse about 2^-126 or
below."""


def small_targets(draft: Draft) -> torch.Tensor:
    """Return ±(n + q/4) times the smallest subnormal of the output format, n from 0 to 2^p, [T, H, R]."""
    fmt, stream, shape = draft.format, draft.stream, (*draft.row_shape, draft.recipe.rank)
    quantum = 2.0 ** (fmt.emin - fmt.precision + 1)
    number = stream.below("small n", 1 << fmt.precision, *shape)
    # A few smallest multiples are met often, also where the format has millions.
    number = torch.where(stream.below("small few", 4, *shape) == 0, number % 4, number)
    quarter = stream.below("small q", 4, *shape).to(torch.float64) * 0.25
    return stream.signs("small ±", *shape) * (number.to(torch.float64) + quarter) * quantum


def _subnormal(draft: Draft, label: str, *shape: int) -> torch.Tensor:
    """Return positive subnormals of float32, the lengths of their significands all alike."""
    code = draft.stream.span(label, 1, (1 << 23) - 1, *shape) >> draft.stream.below(f"{label} by", 23, *shape)
    return float32_pattern(code.clamp_min(1)).to(torch.float64)


def _fill(draft: Draft) -> None:
    stream = draft.stream
    kind = draft.kind_of_row("kind", KINDS)[..., None]
    ordinary = draft.o, draft.m, draft.s
    target = small_targets(draft)
    place(draft, target, draft.written, noise=ulp_exponent(target, draft.format) + 4, label="small")
    results = kind == KINDS.index("results")
    draft.o = torch.where(results[..., None], draft.o, ordinary[0])
    draft.m = torch.where(results, draft.m, ordinary[1])
    draft.s = torch.where(results, draft.s, ordinary[2])

    tiny = stream.signs("tiny ±", *draft.shape) * _subnormal(draft, "tiny o", *draft.shape)
    inputs = (kind == KINDS.index("inputs")) | (kind == KINDS.index("masses"))
    draft.o = torch.where(inputs[..., None], tiny, draft.o)
    masses = kind == KINDS.index("masses")
    draft.s = torch.where(masses, _subnormal(draft, "tiny s", *draft.stat_shape), draft.s)

    # den = 1 + a few 2^-k: the logarithm is about as small as what was added.
    here = kind == KINDS.index("lse")
    active = draft.active.clamp_min(1).reshape(-1, 1, 1)
    one = draft.index == stream.below("one", 1 << 16, *draft.row_shape)[..., None] % active
    below = -stream.span("lse m", 124, 152, *draft.stat_shape).to(torch.float64)
    draft.m = torch.where(here, torch.where(one, torch.zeros_like(below), below), draft.m)
    draft.s = torch.where(here, torch.where(one, torch.ones_like(below), draft.s.clamp(1, 2)), draft.s)


FAMILY = Family(
    name="subnormals",
    domain=Domain.STRESS,
    promise="Each active row has subnormal numbers where the recipe's kind says: o, s, results or lse.",
    fill=_fill,
    parameters={"kind": Choice(values=(*KINDS, ROTATE), usual=ROTATE), "lengths": LENGTHS},
)
