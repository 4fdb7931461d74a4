"""Adversarial rows for the cross-checks: small, seeded, and of every kind that once broke an oracle."""

import math
import random
import struct
from collections.abc import Callable
from typing import NamedTuple

import mpmath
import torch

from verify.oracle.target import Base
from verify.oracle.tests.bases import ORDINARY, Bases
from verify.oracle.tests.seven import FORMATS, Plain

COLUMNS = 4

Row = tuple[list[float], list[float], list[list[float]]]
"""m, s and the columns."""


class Case(NamedTuple):
    """One row of finite, live segments."""

    kind: str
    m: list[float]
    s: list[float]
    columns: list[list[float]]
    fmt: Plain


def single(x: float) -> float:
    """Round to float32; what is larger becomes the largest value."""
    limit = FORMATS["float32"].max_value
    return float(struct.unpack("f", struct.pack("f", max(-limit, min(limit, x))))[0])


def bits(rng: random.Random, *, positive: bool = False, exponents: tuple[int, int] = (0, 254)) -> float:
    """Return a finite float32 of random bits with a biased exponent in the range."""
    code = rng.randint(*exponents) << 23 | rng.getrandbits(23) | (0 if positive else rng.getrandbits(1) << 31)
    x = float(struct.unpack("f", struct.pack("I", code))[0])
    return x if x != 0 or not positive else 2.0**-149


def _maxima(rng: random.Random, n: int) -> list[float]:
    """Return n maxima of one of many habits."""
    base = single(rng.gauss(0, 100))
    habits: list[Callable[[], float]] = [
        lambda: single(rng.gauss(0, 4)),
        lambda: float(rng.randint(-6, 6)),
        lambda: rng.randint(-40, 40) / 4,
        lambda: single(base + rng.choice([0.0, 0.0, 1.0, -20.0, 2.0**-12])),
        lambda: rng.randint(0, 40) * 2.0**-149,
        lambda: single(rng.uniform(-700, 700)),
        lambda: bits(rng, exponents=(60, 137)),
    ]
    habit = rng.choice(habits)
    return [habit() for _ in range(n)]


def _significand(rng: random.Random, width: int) -> float:
    """Return a positive number of at most `width` significand bits, about 1."""
    return (rng.getrandbits(width) | 1) * 2.0 ** -rng.randint(width - 2, width + 2)


def _ordinary(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    m, s = _maxima(rng, n), [single(rng.uniform(1, 64)) for _ in range(n)]
    return m, s, [[single(rng.gauss(0, 1) * x) for x in s] for _ in range(COLUMNS)]


def _any_bits(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    s = [bits(rng, positive=True) for _ in range(n)]
    return _maxima(rng, n), s, [[bits(rng) for _ in range(n)] for _ in range(COLUMNS)]


def _ties(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Make o = c·s with c representable or a midpoint, two columns of four then nudged in one place."""
    width = min(fmt.precision + 1, 18)
    s = [_significand(rng, 24 - width) for _ in range(n)]
    columns = []
    for number in range(COLUMNS):
        n_bits = rng.getrandbits(width - 1) | 1 << (width - 1) | rng.getrandbits(1)
        c = rng.choice([-1, 1]) * n_bits * 2.0 ** rng.randint(-width - 4, 4)
        if rng.random() < 0.3:
            c = 2.0 ** rng.randint(fmt.emin - fmt.precision, fmt.emax - 1) if fmt.emax < 100 else 2.0**-3
        column = [c * x for x in s]
        if number >= 2:
            i = rng.randrange(n)
            column[i] = single(column[i] * (1 + rng.choice([-1, 1]) * 2.0**-23))
        columns.append([single(x) for x in column])
    return _maxima(rng, n), s, columns


def _cancelling(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Pair segments of one maximum, or of maxima whose powers nearly agree, with opposite partials."""
    m, s = _maxima(rng, n), [single(rng.uniform(0.5, 8)) for _ in range(n)]
    columns = []
    for _ in range(COLUMNS):
        column = [0.0] * n
        for i in range(0, n - 1, 2):
            column[i] = single(rng.gauss(0, 1) * 2.0 ** rng.randint(-30, 60))
            if rng.random() < 0.5:
                m[i + 1] = m[i]
            gap = max(-200.0, min(200.0, m[i] - m[i + 1]))
            column[i + 1] = single(-column[i] * float(bases.weight(gap)))
        if n % 2 and rng.random() < 0.5:
            column[-1] = bits(rng)
        columns.append(column)
    return m, s, columns


def _edges(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Put results about the overflow threshold, the subnormals and zero of the format."""
    m, s = _maxima(rng, n), [2.0 ** rng.randint(-3, 3) for _ in range(n)]
    columns = []
    for _ in range(COLUMNS):
        ulp = 2.0 ** (fmt.emin - fmt.precision + 1)
        top = fmt.max_value * rng.choice([1, 1 + 2.0**-fmt.precision, 1 - 2.0 ** -(fmt.precision + 1)])
        c = rng.choice([top, ulp * rng.randint(0, 9) / 2, ulp * 0.75, 2.0**fmt.emin, ulp * 2.0**-10])
        jitter = rng.choice([0.0, 2.0**-23, -(2.0**-23), 2.0**-12])
        columns.append([single(c * x * (1 + jitter * rng.choice([0, 1]))) for x in s])
    return m, s, columns


def _unit_mass(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Make den as near to 1 as s and m allow: exactly, by an ulp of s, or by a far segment."""
    m = [
        single(rng.uniform(-20, 20)) if rng.random() < 0.5 else float(rng.randint(-20, 20)) for _ in range(n)
    ]
    s = [single(float(bases.weight(-x)) / n) for x in m]
    if rng.random() < 0.5:
        s[0] = single(s[0] * (1 + rng.choice([-1, 1]) * 2.0**-23))
    if rng.random() < 0.3:
        m[-1] = single(m[-1] - 2000.0)
    return m, s, [[single(rng.gauss(0, 1)) for _ in range(n)] for _ in range(COLUMNS)]


def _hairline(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Put y next to a midpoint or a power of two, at 2^-50 to 2^-112 of itself, by three light segments."""
    m = [single(rng.uniform(-3, 3)) for _ in range(n)]
    m += [single(max(m) - gap - rng.random()) for gap in (22, 44, 66)]
    if bases.base is Base.E and rng.random() < 0.5:
        m = [float(round(x)) for x in m]  # whole, which makes no power of e exact
    s = [single(rng.uniform(1, 8)) for _ in m]
    columns = []
    with mpmath.workprec(500):
        w = [bases.weight(x) for x in m]
        den = mpmath.fdot(s, w)
        for _ in range(COLUMNS):
            halves = rng.choice([1 << fmt.precision, 2 * rng.randrange(1 << (fmt.precision - 1)) + 1])
            edge = mpmath.mpf(halves | 1 << fmt.precision if halves & 1 else halves) / 2**fmt.precision
            offset = mpmath.mpf(rng.choice([-1, 1]) * rng.uniform(1, 2)) * mpmath.mpf(2) ** rng.uniform(
                -112, -50
            )
            column = [single(rng.uniform(0.5, 2) * x) for x in s[:-3]]
            for i in range(n - 1, n + 3):
                kept = [single(x) for x in column[:i]]
                rest = edge * (1 + offset) * den - mpmath.fdot(kept, w[:i])
                column = [*kept, single(float(rest / w[i]))]
            columns.append(column)
    return m, s, columns


def _hairline_lse(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Put the lse next to a midpoint, at 2^-50 to 2^-112 of itself, by light segments.

    In the ordinary bases it is one of float32, in others one of the format.
    """
    precision = 24 if bases == ORDINARY else fmt.precision
    start = single(rng.uniform(-30, 30))
    m = [single(start - gap - rng.random()) for gap in (0, 21, 42, 63, 84)]
    with mpmath.workprec(500):
        midpoint = mpmath.mpf(2 * rng.randrange(1 << (precision - 1), 1 << precision) + 1)
        midpoint *= mpmath.mpf(2) ** (24 - precision + rng.randint(-30, -20))
        midpoint *= rng.choice([-1, 1])
        m = [single(x + round(float(bases.of_mass(bases.mass(midpoint)))) - start) for x in m]
        midpoint *= 1 + mpmath.mpf(rng.choice([-1, 1])) * mpmath.mpf(2) ** rng.uniform(-112, -50)
        rest = bases.mass(midpoint)
        s = []
        for x in m:
            w = bases.weight(x)
            mass = single(float(rest / w) * (1 - 2.0**-22))  # what is left stays positive
            s.append(max(mass, 2.0**-149))
            rest -= w * mass
    return m, s, [[single(rng.gauss(0, 1)) for _ in m] for _ in range(COLUMNS)]


def _binomial(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Cancel all but 2^(-149·n) of a midpoint of bfloat16 across classes of maxima."""
    m = [j * 2.0**-149 for j in range(n + 1)]
    chosen = [math.comb(n, j) for j in range(n + 1)]
    s = [256.0 * c for c in chosen]
    columns = [[257.0 * c + step * (-1) ** j * c for j, c in enumerate(chosen)] for step in (1, -1)]
    columns += [[(-1) ** j * float(c) for j, c in enumerate(chosen)], [257.0 * c for c in chosen]]
    return m, s, columns


def _far(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Perturb a tie, a power of two and zero from very far below, behind what cancels."""
    far = -rng.choice([150.0, 650.0, 750.0, 1000.0, 1500.5])
    nudge = rng.choice([-1.0, 0.0, 1.0])
    steps = [(0.0, 1.0), (0.0, 1.0), (0.0, -2.0), (-150.0, 1.0), (-150.0, -1.0), (-150.0 + far, nudge)]
    rng.shuffle(steps)
    m, s = [0.25 + depth for depth, _ in steps], [256.0] * len(steps)
    half = 256 * 2.0 ** -min(fmt.precision, 8)
    columns = [[base + step for _, step in steps] for base in (256 + half, 512.0, 0.0, -256 - half)]
    return m, s, columns


def _round_lse(rng: random.Random, n: int, fmt: Plain, bases: Bases) -> Row:
    """Put the lse on a multiple of half an ulp of the format or next to it, as far as the bases allow that.

    In equal bases one m, or whole steps below it, may say what the lse is; where the weights are powers of e
    and the lse is in octaves, all m = 0 may.
    """
    edge = rng.choice([-1, 1]) * rng.getrandbits(min(fmt.precision + 1, 20)) * 2.0 ** rng.randint(-8, 2)
    if rng.random() < 0.3:
        edge = rng.choice([-1, 1]) * 2.0 ** rng.randint(-8, 4)
    if bases.base is Base.E and bases.lse_base is Base.TWO:
        edge, total = 0.0, 2.0 ** rng.choice([1, 2, 4, 5, 9, 17, 33, -9, -33, rng.randint(-90, 90)])
    else:
        total = 1.0
    steps = [min(i + 1, n - 1) for i in range(n)]  # Σ 2^-step = 1
    octaves = bases.base is Base.TWO and rng.random() < 0.5
    m = [edge - step if octaves else edge for step in steps]
    s = [total if octaves else total * 2.0**-step for step in steps]
    if rng.random() < 0.5:
        far = rng.choice([20.0, 40.0, 70.0, 120.0, 1000.0])
        m.append(single(edge - far))
        s.append(rng.choice([0.5, 1.0, 2.0]))
    elif rng.random() < 0.5:
        i = rng.randrange(n)
        s[i] = single(s[i] * (1 + rng.choice([-1, 1]) * 2.0**-23))
    return m, s, [[single(rng.gauss(0, 1)) for _ in m] for _ in range(COLUMNS)]


KINDS: dict[str, Callable[[random.Random, int, Plain, Bases], Row]] = {
    "ordinary": _ordinary,
    "any bits": _any_bits,
    "ties": _ties,
    "cancelling": _cancelling,
    "edges": _edges,
    "unit mass": _unit_mass,
    "hairline": _hairline,
    "hairline lse": _hairline_lse,
    "binomial": _binomial,
    "far": _far,
    "round lse": _round_lse,
}


def adversarial(count: int, seed: int, bases: Bases = ORDINARY) -> list[Case]:
    """Return `count` rows, the kinds and formats taken in turn.

    Round lses are among them in other bases than the ordinary ones, in which none but 0 is.
    """
    rng = random.Random(seed)
    kinds = [kind for kind in KINDS if kind != "round lse" or bases != ORDINARY]
    formats = list(FORMATS.values())
    cases = []
    for number in range(count):
        kind, fmt = kinds[number % len(kinds)], formats[number // len(kinds) % len(formats)]
        n = rng.choice([1, 2, 2, 3, 3, 4, 5, 8, 17])
        m, s, columns = KINDS[kind](rng, n, fmt, bases)
        cases.append(Case(kind, m, s, columns, fmt))
    return cases


def packed(cases: list[Case]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return o [T, 1, S, COLUMNS], m, s [T, 1, S] and active [T]; what is not active holds NaN."""
    shape = len(cases), 1, max(len(case.m) for case in cases)
    o, m, s = (
        torch.full((*shape, COLUMNS), math.nan),
        torch.full(shape, math.nan),
        torch.full(shape, math.nan),
    )
    for i, case in enumerate(cases):
        n = len(case.m)
        m[i, 0, :n], s[i, 0, :n] = torch.tensor(case.m), torch.tensor(case.s)
        o[i, 0, :n] = torch.tensor(case.columns).T
    return o, m, s, torch.tensor([len(case.m) for case in cases])
