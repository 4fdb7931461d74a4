"""Adversarial rows for the cross-checks: small, seeded, and of every kind that once broke an oracle."""

import random
import struct
from collections.abc import Callable
from typing import NamedTuple

from verify.oracle.tests.seven import FORMATS, Plain

COLUMNS = 4


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


def _ordinary(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
    m, s = _maxima(rng, n), [single(rng.uniform(1, 64)) for _ in range(n)]
    return m, s, [[single(rng.gauss(0, 1) * x) for x in s] for _ in range(COLUMNS)]


def _any_bits(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
    s = [bits(rng, positive=True) for _ in range(n)]
    return _maxima(rng, n), s, [[bits(rng) for _ in range(n)] for _ in range(COLUMNS)]


def _ties(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
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


def _cancelling(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
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
            column[i + 1] = single(-column[i] * 2.0**gap)
        if n % 2 and rng.random() < 0.5:
            column[-1] = bits(rng)
        columns.append(column)
    return m, s, columns


def _edges(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
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


def _unit_mass(rng: random.Random, n: int, fmt: Plain) -> tuple[list[float], list[float], list[list[float]]]:
    """Make den as near to 1 as s and m allow: exactly, by an ulp of s, or by a far segment."""
    m = [
        single(rng.uniform(-20, 20)) if rng.random() < 0.5 else float(rng.randint(-20, 20)) for _ in range(n)
    ]
    s = [single(2.0**-x / n) for x in m]
    if rng.random() < 0.5:
        s[0] = single(s[0] * (1 + rng.choice([-1, 1]) * 2.0**-23))
    if rng.random() < 0.3:
        m[-1] -= 2000.0
    return m, s, [[single(rng.gauss(0, 1)) for _ in range(n)] for _ in range(COLUMNS)]


KINDS: dict[
    str, Callable[[random.Random, int, Plain], tuple[list[float], list[float], list[list[float]]]]
] = {
    "ordinary": _ordinary,
    "any bits": _any_bits,
    "ties": _ties,
    "cancelling": _cancelling,
    "edges": _edges,
    "unit mass": _unit_mass,
}


def adversarial(count: int, seed: int) -> list[Case]:
    """Return `count` rows, the kinds and formats taken in turn."""
    rng = random.Random(seed)
    kinds, formats = list(KINDS), list(FORMATS.values())
    cases = []
    for number in range(count):
        kind, fmt = kinds[number % len(kinds)], formats[number // len(kinds) % len(formats)]
        n = rng.choice([1, 2, 2, 3, 3, 4, 5, 8, 17])
        m, s, columns = KINDS[kind](rng, n, fmt)
        cases.append(Case(kind, m, s, columns, fmt))
    return cases
