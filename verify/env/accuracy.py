"""How far division, exponential and logarithms are off, at float32s of every exponent.

Exact values are those of the sweep and of the oracle, certified; errors are the metric's. Points whose
operand or exact result is subnormal are left to the probes of subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

from fuzz.bits import Stream
from fuzz.formats import FORMATS
from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import witness
from verify.oracle.evaluate import evaluate
from verify.oracle.target import Base
from verify.oracle.values import ExactValues
from verify.sweep.enclosures import Enclosed, power_of
from verify.sweep.measure import exact_values
from verify.sweep.points import floats
from verify.sweep.registry import PROBES as SWEPT
from verify.sweep.settle import picked, quotient, replaced, rounded_of
from verify.ulp import error_ulp

CORRECT, FAITHFUL, APPROXIMATE, MISPLACED = (
    "correctly rounded",
    "within 1 ulp",
    "beyond 1 ulp",
    "infinite or NaN where a number is right",
)
ANSWERS = (CORRECT, FAITHFUL, APPROXIMATE, MISPLACED)

_F32 = FORMATS["float32"]
_NORMAL = 2.0**_F32.emin
Sample = tuple[tuple[Tensor, ...], ExactValues]
"""Operands [N] each, and the exact results."""


@cache
def quotients(seed: int) -> Sample:
    """Return pairs of float32s and their quotients: the sweep's dividends, each with another's size."""
    o = floats(SWEPT["divide"].subset(seed, _F32))
    o = o[o.isfinite() & (o.abs() >= _NORMAL)]
    s = o[Stream(seed=seed).words("divisors", len(o)).argsort()].abs()
    return _normal((o, s), quotient(o, s, _F32))


@cache
def powers(seed: int) -> Sample:
    """Return float32s x ≤ 0, the exponents of a merge, and 2^x."""
    probe = SWEPT["exp2"]
    points = probe.subset(seed, _F32)
    exact, _ = exact_values(probe, points, "float32", _F32)
    x = floats(points)
    # The sweep's own result lies below 2^x by 2^-149 of it; for a whole x the enclosure's value is exact.
    whole = ((x == x.round()) & (x >= _F32.emin)).nonzero().flatten()
    value = power_of(x[whole]).value
    better, _ = rounded_of(Enclosed(value, torch.zeros_like(value)), _F32)
    return _normal((x,), replaced(exact, whole, better))


@cache
def logarithms(base: Base, seed: int) -> Sample:
    """Return positive float32s and their logarithms."""
    points = SWEPT["log"].subset(seed, _F32)
    x = floats(points)
    if base is Base.E:
        return _normal((x,), exact_values(SWEPT["log"], points, "float32", _F32)[0])
    mass = x[:, None, None]
    one = torch.ones(len(x), dtype=torch.int32)
    found = evaluate(mass[..., None], 0 * mass, mass, one, _F32, _F32, lse_base=base, processes=1).lse
    return _normal((x,), ExactValues(**{name: part.flatten() for name, part in vars(found).items()}))


def _normal(operands: tuple[Tensor, ...], exact: ExactValues) -> Sample:
    size = exact.rounded.abs()
    zero = (size == 0) & (exact.residual == 0)  # as ln 1 is, and no quotient that underflows
    kept = (zero | (size >= _NORMAL)) & (size <= _F32.max_value)
    for x in operands:
        kept &= (x == 0) | (x.abs() >= _NORMAL)
    places = kept.nonzero().flatten()
    return tuple(x[places] for x in operands), picked(exact, places)


def _find(operation: str, sample: Callable[[int], Sample], engine: Engine, seed: int) -> Answer:
    operands, exact = sample(seed)
    got = engine.compute(operation, *operands)
    size = error_ulp(got, exact, _F32).abs()
    misplaced = size.isnan() | got.isinf()
    size = torch.where(misplaced, torch.inf, size)
    place = int(size.argmax())
    misrounded = int((got.double() != exact.rounded).sum())
    worst = float(size[place])
    within = FAITHFUL if worst < 1 else APPROXIMATE
    answer = MISPLACED if bool(misplaced.any()) else within if misrounded else CORRECT
    if answer == CORRECT:
        place = int(torch.where(exact.rounded == 0, 0.0, size).argmax())
    finite = torch.where(misplaced, 0.0, size).max()
    return Answer(
        answer=answer,
        witness=witness(operands, got, place, exact.rounded.float()),
        measured={
            "max_ulp": round(float(finite), 4),
            "points": len(size),
            "misrounded": misrounded,
            "misplaced": int(misplaced.sum()),
        },
    )


def _probe(operation: str, of: str, sample: Callable[[int], Sample], follows: str) -> Probe:
    return Probe(
        name=f"accuracy/{operation}",
        question=f"How far is {of} of float32 off where operands and results are normal?",
        needs=frozenset((operation,)),
        answers=ANSWERS,
        follows=follows,
        find=partial(_find, operation, sample),
    )


_OUTPUTS = "the last place of every output that is divided in float32"
PROBES = (
    _probe("divide", "a / b", quotients, _OUTPUTS),
    _probe("divide, rounded", "the division that is to round correctly,", quotients, _OUTPUTS),
    _probe("exp2", "2^x, x ≤ 0,", powers, "every weight of a merge in float32, so every output and lse"),
    _probe("log2", "log₂ x", partial(logarithms, Base.TWO), "every lse whose logarithm is taken in float32"),
    _probe("log", "ln x", partial(logarithms, Base.E), "every lse whose logarithm is taken in float32"),
)
