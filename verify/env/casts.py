"""How a cast to a narrower format rounds: once, by way of another format, or not at all.

A rule is a way to round, made of roundings of the oracle; the answer is the first rule that explains every
point. The points are all values of the format and its ties (of float32, those of the sweep's subset), the
neighbours of both in the format that is cast, and others a little further away: rounded twice, they become
the tie; rounded and then truncated, the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import torch
from torch import Tensor

from fuzz.bits import exponent_of
from fuzz.formats import FORMATS, Format
from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import witness
from verify.oracle.rounding import round_values
from verify.sweep.enclosures import Enclosed
from verify.sweep.points import INFINITE, floats, midpoints, subset
from verify.sweep.settle import rounded_of
from verify.ulp import error_ulp

ONCE, OTHER = "once, to nearest even", "by none of these rules"
_NORMAL_ONLY = ", but for the subnormal range"

_AWAY = 2.0**-10  # of a tie: bfloat16 takes it for the tie, and float16 does not

Rule = Callable[[Tensor, Format], Tensor]
"""Rounds float64s [N], none beyond the format's largest, to values of the format."""


def _nearest(x: Tensor, fmt: Format) -> Tensor:
    return round_values(x.contiguous(), fmt).rounded


def _truncated(x: Tensor, fmt: Format) -> Tensor:
    found = round_values(x.contiguous(), fmt)
    last = found.binade * 2.0 ** (1 - fmt.precision)
    return torch.where(found.rounded.abs() > x.abs(), found.rounded - x.sign() * last, found.rounded)


def _ties_away(x: Tensor, fmt: Format) -> Tensor:
    found = round_values(x.contiguous(), fmt)
    away = x + x.sign() * found.binade * 2.0**-fmt.precision
    return torch.where(found.residual.abs() == 0.5, away, found.rounded)


def _carry_or_ed(x: Tensor, fmt: Format) -> Tensor:
    """Join exponent and rounded significand by a bitwise or: an odd exponent code swallows the carry."""
    rounded, binade = _ties_away(x, fmt), round_values(x.contiguous(), fmt).binade
    code = exponent_of(binade) - fmt.emin + 1
    return torch.where((rounded.abs() == 2 * binade) & (code % 2 == 1), rounded / 2, rounded)


def _through(middle: str, then: Rule = _nearest, first: Rule = _nearest) -> Rule:
    return lambda x, fmt: then(first(x, FORMATS[middle]).clamp(-fmt.max_value, fmt.max_value), fmt)


RULES: Mapping[str, Rule] = {
    ONCE: _nearest,
    "to nearest, ties away from zero": _ties_away,
    "to nearest, ties away from zero, the carry or-ed into the exponent": _carry_or_ed,
    "truncated": _truncated,
    "twice, by way of float32": _through("float32"),
    "twice, by way of float16": _through("float16"),
    "twice, by way of bfloat16": _through("bfloat16"),
    "to float32, then truncated": _through("float32", _truncated),
    "to float32, then ties away from zero": _through("float32", _ties_away),
}
ANSWERS = (*(name + part for name in RULES for part in ("", _NORMAL_ONLY)), OTHER)


@cache
def points(source: str, target: str, seed: int) -> Tensor:
    """Return the values [N] to cast, in the source's dtype, none beyond the target's largest."""
    fmt, dtype = FORMATS[target], getattr(torch, source)
    if target == "float32":
        low = floats(subset(((0, INFINITE - 1),), seed))
        ties = (low.double() + torch.nextafter(low, torch.tensor(torch.inf)).double()) / 2
        ties = torch.cat([ties, -ties])
    else:
        ties = floats(midpoints(fmt)).double()
        ties = ties[round_values(ties, fmt).residual.abs() == 0.5]
    x = torch.cat([ties, _truncated(ties, fmt)]).to(dtype)
    up, down = (torch.nextafter(x, torch.full_like(x, way)) for way in (torch.inf, -torch.inf))
    x = torch.cat([x, up, down, *((x.double() * (1 + way)).to(dtype) for way in (_AWAY, -_AWAY))])
    return x[x.double().abs() <= fmt.max_value]


def _find(source: str, target: str, engine: Engine, seed: int) -> Answer:
    fmt, given = FORMATS[target], points(source, target, seed)
    got = engine.compute("copy", given, into=fmt.torch_dtype)
    x, value = given.double(), got.double()
    exact, _ = rounded_of(Enclosed(x, torch.zeros_like(x)), fmt)
    right = exact.rounded
    error = error_ulp(got, exact, fmt).abs()
    size = torch.where(error.isnan() | value.isinf(), torch.inf, error)
    # The worst of the misrounded: at a tie both neighbours are equally far, and one of them is right.
    place = int(torch.where(value == right, -1.0, size).argmax())
    return Answer(
        answer=_explained(x, value, fmt),
        witness=witness((given,), got, place, right.to(fmt.torch_dtype)),
        measured={
            "max_ulp": round(float(torch.where(size.isinf(), 0.0, size).max()), 4),
            "points": len(x),
            "misrounded": int((value != right).sum()),
            "misplaced": int(size.isinf().sum()),
        },
    )


def _explained(x: Tensor, value: Tensor, fmt: Format) -> str:
    """Return the first rule that explains all values, else the first that explains the normal ones."""
    normal, partly = x.abs() >= 2.0**fmt.emin, OTHER
    for name, rule in RULES.items():
        same = rule(x, fmt) == value
        if bool(same.all()):
            return name
        if partly == OTHER and bool(same[normal].all()):
            partly = name + _NORMAL_ONLY
    return partly


def _probe(source: str, target: str) -> Probe:
    return Probe(
        name=f"rounding/{source} to {target}",
        question=f"How does the cast from {source} to {target} round?",
        needs=frozenset(("copy",)),
        answers=ANSWERS,
        follows=f"every {target} output that a kernel stores from {source}"
        + (", and every float32 lse" if target == "float32" else ""),
        find=partial(_find, source, target),
    )


PROBES = tuple(
    _probe(source, target) for source in ("float32", "float64") for target in FORMATS if source != target
)
