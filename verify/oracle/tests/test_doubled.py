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
from verify.oracle.logarithms import logarithm
from verify.oracle.powers import EPS_POWER, exp, exp2
from verify.oracle.target import Base
from verify.oracle.tests.arb import power, weighted
from verify.oracle.tests.bases import PAIRS, Bases
from verify.oracle.tests.rows import adversarial, packed
from verify.oracle.weights import EPS_DEN, SMALLEST, weigh


def doubles(rng: random.Random, count: int, low: int, high: int) -> torch.Tensor:
    values = [rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randint(low, high) for _ in range(count)]
    return torch.tensor(values, dtype=torch.float64)


def exactly(pair: tuple[torch.Tensor, torch.Tensor]) -> list[arb]:
    return [arb(h) + arb(x) for h, x in zip(pair[0].tolist(), pair[1].tolist(), strict=True)]


def rational_lse(bases: Bases, maximum: float, n: float) -> arb:
    """Return the lse of base^maximum · 2^n where it is rational."""
    if bases.base is Base.TWO:
        return arb(maximum) + arb(n) if bases.lse_base is Base.TWO else arb(0)
    return arb(n) if bases.lse_base is Base.TWO else arb(maximum)


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


@pytest.mark.parametrize("base", Base)
def test_powers_keep_their_bound(base):
    rng = random.Random(2)
    function, ln = (exp2, math.log(2)) if base is Base.TWO else (exp, 1.0)
    hi = torch.cat((
        -torch.rand(2000, dtype=torch.float64) * 700 * math.log(2) / ln,
        torch.linspace(-1, 1, 2050, dtype=torch.float64),
        doubles(rng, 500, -160, -1),
        -torch.arange(0, 900 if base is Base.TWO else 620, 0.5, dtype=torch.float64),
        (torch.arange(-512, 513) * 2 + 1).double() / 2048 * math.log(2) / ln,  # between entries of the table
    ))  # fmt: skip
    lo = hi * 2.0**-54 * torch.tensor([rng.uniform(-1, 1) for _ in hi], dtype=torch.float64)
    worst = 0.0
    ctx.prec = 400
    for p, d in zip(exactly(function((hi, lo))), exactly((hi, lo)), strict=True):
        want = (d * (arb.const_log2() if base is Base.TWO else 1)).exp()
        worst = max(worst, float(abs(p - want) / want))
    ctx.prec = 53
    assert worst < EPS_POWER / 2  # 2^-104.9 was seen


def test_powers_of_whole_numbers_are_exact():
    whole = torch.arange(-700, 1).double()
    hi, lo = exp2((whole, torch.zeros_like(whole)))
    assert (lo == 0).all()
    assert hi.tolist() == [2.0 ** int(n) for n in whole]
    zero = torch.zeros(1, dtype=torch.float64)
    hi, lo = exp((zero, zero))
    assert (hi.item(), lo.item()) == (1.0, 0.0)


@pytest.mark.parametrize("bases", PAIRS)
def test_logarithms_keep_their_bound(bases):
    rng = random.Random(3)
    c = torch.cat((torch.linspace(0.7072, 1.414, 500).double(), 1 + doubles(rng, 500, -52, -3)))
    c[::50] = 1.0
    maxima = [rng.choice([0.0, 1.0, -0.5, rng.uniform(-1e3, 1e3), 3e38, -7.0, 2.0**-149]) for _ in c]
    m, n = torch.tensor(maxima).double(), torch.tensor([rng.randint(-149, 153) for _ in c]).double()
    n[::3] = 0
    cc = two_sum(c, torch.where(c == 1, 0.0, c * 2.0**-57))
    value, bound, rational = logarithm(m, n, cc, *bases)
    ctx.prec = 600
    two = arb.const_log2()
    seen = 0
    rows = zip(exactly(value), m.tolist(), n.tolist(), exactly(cc), bound.tolist(), rational, strict=True)
    for got, top, whole, q, limit, known in rows:
        want = top * (two if bases.base is Base.TWO else 1) + whole * two + q.log()
        want = want / two if bases.lse_base is Base.TWO else want
        assert abs(got - want) <= limit
        assert limit <= 2.0**-96 + (abs(top) + abs(whole)) * 2.0**-100
        if known:
            assert got == rational_lse(bases, top, whole)
            seen += 1
    ctx.prec = 53
    assert seen > (0 if bases == (Base.TWO, Base.E) else 2)


def test_a_poor_guess_of_a_logarithm_is_not_believed(monkeypatch):
    c = torch.tensor([1.25, 0.75], dtype=torch.float64)
    none = torch.zeros_like(c)
    right = torch.log
    for off, believed in ((2.0**-47, True), (2.0**-45, False)):
        monkeypatch.setattr(torch, "log", lambda x, off=off: right(x) + off)
        value, bound, _ = logarithm(none, none, (c, none), Base.TWO, Base.E)
        assert bound.isfinite().tolist() == [believed] * 2
        ctx.prec = 300
        for got, x, limit in zip(exactly(value), c.tolist(), bound.tolist(), strict=True):
            assert not believed or abs(got - arb(x).log()) <= limit
        ctx.prec = 53


@pytest.mark.parametrize("base", Base)
def test_weights_and_denominators_keep_their_bounds(base):
    bases = Bases(base, Base.E)
    cases = [case for case in adversarial(300, 25, bases) if max(case.m) - min(case.m) < 1e4]
    _, m, s, active = packed(cases)
    weights = weigh(m[:, 0], s[:, 0], active, base)
    least = SMALLEST[base]
    ctx.prec = 3200
    for i, case in enumerate(cases):
        top = max(case.m)
        den = arb(weights.den[0][i].item()) + arb(weights.den[1][i].item())
        want = weighted(case.s, case.m, base) / power(top, base)
        assert abs(den - want) <= want * EPS_DEN
        for j, x in enumerate(case.m):
            got = arb(weights.weight[0][i, j].item()) + arb(weights.weight[1][i, j].item())
            want = power(x, base) / power(top, base)
            if weights.whole[i, j]:
                assert base is Base.TWO or x == top
                assert got == arb(2) ** int(x - top)
            if x - top > least + 1:
                assert abs(got - want) <= want * EPS_POWER
                assert sum((arb(p[i, j].item()) for p in weights.pieces), arb(0)) == got
            else:
                assert got == 0 or x - top > least - 1
                assert got != 0 or want < arb(2) ** -698
    ctx.prec = 53
