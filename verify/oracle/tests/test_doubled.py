"""The vectorised arithmetic against the bounds that the README derives, by Arb."""

import math
import random

import pytest
import torch
from flint import arb, ctx

from verify.oracle.doubled import (
    add,
    divide,
    exact_total,
    multiply,
    scale,
    split,
    total,
    two_product,
    two_sum,
)
from verify.oracle.powers import EPS_POWER, exp2, log_scaled
from verify.oracle.tests.arb import power_of_two, weighted
from verify.oracle.tests.rows import adversarial, packed
from verify.oracle.weights import EPS_DEN, weigh


def doubles(rng: random.Random, count: int, low: int, high: int) -> torch.Tensor:
    values = [rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randint(low, high) for _ in range(count)]
    return torch.tensor(values, dtype=torch.float64)


def exactly(pair: tuple[torch.Tensor, torch.Tensor]) -> list[arb]:
    return [arb(h) + arb(x) for h, x in zip(pair[0].tolist(), pair[1].tolist(), strict=True)]


def test_double_double_operations_keep_their_bounds():
    rng, n, u2 = random.Random(1), 4000, 2.0**-106
    ctx.prec = 2400
    a, b = doubles(rng, n, -40, 40), doubles(rng, n, -40, 40)
    a[: n // 2] = -b[: n // 2] * (1 + torch.randint(-4, 5, (n // 2,)) * 2.0**-52)
    x, y = two_sum(a, a * doubles(rng, n, -60, -54)), two_sum(b, b * doubles(rng, n, -60, -54))
    for pair, want in (
        (two_sum(a, b), [p + q for p, q in zip(map(arb, a.tolist()), map(arb, b.tolist()), strict=True)]),
        (two_product(a, b), [arb(p) * arb(q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]),
    ):
        assert all(p == q for p, q in zip(exactly(pair), want, strict=True))
    w0, w1 = split(a)
    short = b.float().double()
    ex, ey = exactly(x), exactly(y)
    for got, want, bound in (
        (add(x, y), [p + q for p, q in zip(ex, ey, strict=True)], 3.1 * u2),
        (multiply(x, y), [p * q for p, q in zip(ex, ey, strict=True)], 8 * u2),
        (divide(x, y), [p / q for p, q in zip(ex, ey, strict=True)], 2.0**-100),
        (scale((w0, w1, x[0] * 2.0**-54), short),
         [(arb(p) + arb(r) * arb(2) ** -54) * arb(q) for p, q, r in
          zip(a.tolist(), short.tolist(), x[0].tolist(), strict=True)], 4 * u2),
    ):  # fmt: skip
        for p, q in zip(exactly(got), want, strict=True):
            assert abs(p - q) <= abs(q) * bound
    ctx.prec = 53


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 33])
def test_sums_keep_their_bounds(n):
    rng = random.Random(n)
    ctx.prec = 2400
    hi = doubles(rng, 60 * n, -30, 30).reshape(60, n)
    x = two_sum(hi, hi * 2.0**-55)
    got, (whole, exact) = total(x), exact_total(x)
    ex = [exactly((h, q)) for h, q in zip(*x, strict=True)]
    for i, terms in enumerate(ex):
        size = sum((abs(t) for t in terms), arb(0))
        assert abs(exactly(got)[i] - sum(terms, arb(0))) <= size * (3.1 * 2.0**-106 * math.ceil(math.log2(n)))
        if exact[i]:
            assert exactly(whole)[i] == sum(terms, arb(0))
    integers = torch.randint(-(2**40), 2**40, (60, n)).double()
    (hi, lo), exact = exact_total((integers * 2.0**80, integers.flip(-1)))
    assert exact.all()
    assert (hi[n > 1] + lo[n > 1]).isfinite().all()
    assert exactly((hi, lo)) == [arb(int(r.sum())) * arb(2) ** 80 + int(r.sum()) for r in integers]
    ctx.prec = 53


def test_exact_sums_notice_what_they_lose():
    hi = torch.tensor([[2.0**100, 1.0, 2.0**-80, 0.0]], dtype=torch.float64)
    _, exact = exact_total((hi, torch.zeros_like(hi)))
    assert not exact.any()


def test_powers_keep_their_bound():
    rng = random.Random(2)
    hi = torch.cat((
        -torch.rand(2000, dtype=torch.float64) * 700, torch.linspace(-1, 1, 2050, dtype=torch.float64),
        doubles(rng, 500, -160, -1), -torch.arange(0, 700, 0.5, dtype=torch.float64),
        (torch.arange(-512, 513) * 2 + 1).double() / 2048,
    ))  # fmt: skip
    lo = hi * 2.0**-54 * torch.tensor([rng.uniform(-1, 1) for _ in hi], dtype=torch.float64)
    worst = 0.0
    ctx.prec = 400
    for p, d in zip(exactly(exp2((hi, lo))), exactly((hi, lo)), strict=True):
        want = (d * arb.const_log2()).exp()
        worst = max(worst, float(abs(p - want) / want))
    ctx.prec = 53
    assert worst < EPS_POWER / 2  # 2^-105 was seen
    whole = torch.arange(-700, 1).double()
    hi, lo = exp2((whole, torch.zeros_like(whole)))
    assert (lo == 0).all()
    assert hi.tolist() == [2.0 ** int(n) for n in whole]


def test_logarithms_keep_their_bound():
    rng = random.Random(3)
    c = torch.cat((torch.linspace(0.7072, 1.414, 500).double(), 1 + doubles(rng, 500, -52, -3)))
    k = torch.tensor([rng.choice([0.0, 1.0, -0.5, rng.uniform(-1e3, 1e3), 3e38]) for _ in c]).double()
    kk, cc = two_sum(k, k * 2.0**-60), two_sum(c, c * 2.0**-57)
    value, bound = log_scaled(kk, cc)
    ctx.prec = 600
    rows = zip(exactly(value), exactly(kk), exactly(cc), bound.tolist(), strict=True)
    for got, p, q, limit in rows:
        assert abs(got - (p * arb.const_log2() + q.log())) <= limit
        assert limit <= 2.0**-96 + abs(p) * 2.0**-100
    ctx.prec = 53


def test_weights_and_denominators_keep_their_bounds():
    cases = [case for case in adversarial(300, seed=25) if max(case.m) - min(case.m) < 1e4]
    _, m, s, active = packed(cases)
    weights = weigh(m[:, 0], s[:, 0], active)
    ctx.prec = 3200
    for i, case in enumerate(cases):
        top = max(case.m)
        den = arb(weights.den[0][i].item()) + arb(weights.den[1][i].item())
        want = weighted(case.s, case.m) / power_of_two(top)
        assert abs(den - want) <= want * EPS_DEN
        for j, x in enumerate(case.m):
            got = arb(weights.weight[0][i, j].item()) + arb(weights.weight[1][i, j].item())
            want = power_of_two(x) / power_of_two(top)
            if x - top > -699:
                assert abs(got - want) <= want * EPS_POWER
                assert sum((arb(p[i, j].item()) for p in weights.pieces), arb(0)) == got
            else:
                assert got == 0 or x - top > -701
    ctx.prec = 53
