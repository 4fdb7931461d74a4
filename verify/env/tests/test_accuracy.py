"""The errors of functions are measured where they are, and certified values are what they are measured by."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import pytest
import torch

from fuzz.formats import FORMATS
from verify.env.accuracy import logarithms, powers, quotients
from verify.env.tests.engines import ask, seen
from verify.oracle.target import Base

F32 = FORMATS["float32"]
EXACT: dict[str, Callable[..., torch.Tensor]] = {
    "divide": lambda a, b, _: (
        a.double() / b.double()
    ).float(),  # rounded twice, and yet right: 53 ≥ 2·24 + 2
    "exp2": lambda x, _: torch.exp2(x.double()).float(),
    "log2": lambda x, _: torch.log2(x.double()).float(),
    "log": lambda x, _: torch.log(x.double()).float(),
}


@pytest.mark.parametrize("operation", list(EXACT))
def test_what_float64_rounds_right_is_found_right(operation):
    found = ask(f"accuracy/{operation}", EXACT)
    assert found.answer == "correctly rounded"
    assert found.measured["misrounded"] == found.measured["misplaced"] == 0
    assert found.measured["points"] > 40_000
    assert 0.499 < found.measured["max_ulp"] <= 0.5


@pytest.mark.parametrize("operation", list(EXACT))
@pytest.mark.parametrize(
    ("answer", "spoil"),
    [
        ("within 1 ulp", lambda y: torch.nextafter(y, torch.full_like(y, torch.inf))),
        ("beyond 1 ulp", lambda y: y * (1 + 2.0**-21)),
        ("infinite or NaN where a number is right", lambda y: y * torch.nan),
    ],
)
def test_a_single_wrong_point_is_the_witness(operation, answer, spoil):
    at = 0.703125  # in the sweep's subset, as a value of the narrow formats

    def wrong(*x):
        y, place = EXACT[operation](*x), (x[0].abs() == at) & (x[0] == (-at if operation == "exp2" else at))
        assert int(place.sum()) == 1
        # The neighbour on the far side of the exact value, which is within 1 ulp of it.
        exact = {"divide": x[0].double() / x[1 % len(x[:-1])].double()}.get(operation)
        exact = getattr(torch, operation)(x[0].double()) if exact is None else exact
        if answer == "within 1 ulp":
            up = torch.nextafter(y, torch.full_like(y, torch.inf))
            down = torch.nextafter(y, torch.full_like(y, -torch.inf))
            return torch.where(place, torch.where(exact > y.double(), up, down), y)
        return torch.where(place, spoil(y), y)

    found = ask(f"accuracy/{operation}", {operation: wrong})
    assert found.answer == answer
    assert found.measured["misrounded"] == 1
    assert abs(float.fromhex(seen(found).operands[0].hex)) == at
    assert seen(found).right is not None


@pytest.mark.parametrize(
    ("sample", "function"),
    [
        (powers, lambda x: mpmath.power(2, x)),
        (lambda seed: logarithms(Base.TWO, seed), lambda x: mpmath.log(x) / mpmath.log(2)),
        (lambda seed: logarithms(Base.E, seed), mpmath.log),
    ],
)
def test_exact_values_are_those_of_mpmath(sample, function):
    (x,), exact = sample(3)
    with mpmath.workprec(200):
        for place in range(0, len(x), len(x) // 300):
            value = function(mpmath.mpf(float(x[place])))
            unit = mpmath.ldexp(1, int(exact.exponent[place]) - F32.precision + 1)
            told = mpmath.mpf(float(exact.rounded[place])) + mpmath.mpf(float(exact.residual[place])) * unit
            assert abs(told - value) <= unit / 2048, float(x[place]).hex()


def test_points_are_normal_and_many():
    (o, s), exact = quotients(0)
    for x in (o.abs(), s, exact.rounded.abs()):
        assert bool((x >= 2.0**-126).all())
        assert bool(x.isfinite().all())
    (x,), exact = powers(0)
    assert bool((x <= 0).all())
    assert float(exact.rounded.min()) == 2.0**-126
    assert 0.5 * len(o) < len({*s.tolist()}), "divisors are as various as dividends"


def test_whole_exponents_are_measured_at_the_power_itself():
    (x,), exact = powers(0)
    whole = x == x.round()
    assert int(whole.sum()) == 127
    assert bool((exact.residual[whole] == 0).all())
    assert [math.log2(y) for y in exact.rounded[whole].tolist()] == x[whole].tolist()
