"""The bounds of the float64 functions hold, beside Arb, and are no wider than they must be."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest
import torch

from fuzz.bits import Stream, bounded
from verify.sweep.enclosures import U, log_of_mass, power_of
from verify.sweep.points import floats

_BITS = 300


def _arb(value: float) -> flint.arb:
    numerator, denominator = Fraction(value).as_integer_ratio()
    return flint.arb(flint.fmpq(numerator, denominator))


def _shares(found, exact) -> list[float]:
    """Return |error| / bound of each value."""
    shares = []
    for value, bound, truth in zip(found.value.tolist(), found.bound.tolist(), exact, strict=True):
        error = abs(truth - _arb(value))
        if bound == 0:
            assert error.contains(0)
            shares.append(0.0)
        else:
            shares.append(float((error / _arb(bound)).upper()))
    return shares


@pytest.fixture(autouse=True)
def bits():
    before, flint.ctx.prec = flint.ctx.prec, _BITS
    yield
    flint.ctx.prec = before


def _logs(m, s):
    two = flint.arb(2).log()
    return [_arb(a).log() + _arb(b) * two for a, b in zip(s.tolist(), m.tolist(), strict=True)]


def drawn(label: str, count: int, low: int, high: int) -> torch.Tensor:
    """Return floats whose codes are drawn from low … high − 1."""
    return floats(low + bounded(Stream(seed=11).words(label, count), high - low))


ONE = 0x3F800000
MASSES = {
    "any": drawn("any", 2000, 1, 255 << 23),
    "near 1": drawn("near", 2000, ONE - (1 << 23), ONE + (1 << 23)),
    "nearest 1": floats(ONE + torch.arange(-300, 301)),
    "where the table changes": torch.cat([(torch.arange(90, 183) + 0.5) / 128 + d for d in (-1e-7, 0, 1e-7)]),
    "smallest": floats(torch.arange(1, 100)),
}


@pytest.mark.parametrize("name", MASSES)
def test_logarithms(name):
    s = MASSES[name].float()
    m = torch.zeros_like(s)
    found = log_of_mass(m, s)
    assert max(_shares(found, _logs(m, s))) <= 1
    assert bool((found.bound <= found.value.abs() * (1.04 * U)).all())


def test_multiples_of_ln_2():
    m = torch.cat([drawn("m", 2000, 0, 255 << 23), -drawn("n", 500, 0, 255 << 23), torch.zeros(1)])
    s = torch.ones_like(m)
    found = log_of_mass(m, s)
    assert max(_shares(found, _logs(m, s))) <= 1
    assert bool((found.bound <= found.value.abs() * (1.01 * U)).all())


def test_what_cancels():
    j = torch.arange(1, 18)[:, None]
    away = torch.arange(-40, 41)
    for sign in (1, -1):
        m = (sign * 2.0 ** -j.double() + 60).float()
        nearest = torch.exp2(-m.double()).float().view(torch.int32).to(torch.int64)
        s = floats((nearest + away).flatten())
        m = m.expand(17, 81).flatten()
        found = log_of_mass(m, s)
        assert max(_shares(found, _logs(m, s))) <= 1
        assert float(found.bound.max()) < 2.0**-53
        assert float((found.bound / found.value.abs()).max()) > 2.0**-45  # it did cancel


def test_powers():
    x = torch.cat(
        [
            -160 * Stream(seed=3).unit("x", 2000).float(),
            -1000 * Stream(seed=4).unit("x", 1000).float(),
            -drawn("tiny", 1000, 0, ONE),
            -torch.arange(151).float(),
            -(torch.arange(129) + 0.5) / 128,
        ]
    )
    found = power_of(x)
    exact = [flint.arb(2) ** _arb(value) for value in x.tolist()]
    assert max(_shares(found, exact)) <= 1
    assert bool((found.bound <= found.value * (1.03 * U)).all())
    assert power_of(torch.tensor([-1001.0, -torch.inf])).value.tolist() == [2.0**-1000] * 2
