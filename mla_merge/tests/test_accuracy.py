"""Errors against a multiple-precision merge, never more than bounds.toml allows."""

import math
import random
import struct
import tomllib
from importlib import resources

import pytest
import torch

from mla_merge import merge_mla_segments_triton
from mla_merge.rounding import RULES
from mla_merge.tests.reference import ExactRow, margin
from mla_merge.tests.rows import merge_row


def any_float32(rng: random.Random, low: int, high: int) -> float:
    """A float32 of either sign with its exponent field between two, every mantissa alike."""
    code = rng.getrandbits(1) << 31 | rng.randint(low, high) << 23 | rng.getrandbits(23)
    return float(struct.unpack("f", struct.pack("I", code))[0])


def draw(rng: random.Random, segments: int, rank: int):
    """One finite row: ordinary, far-flung, cancelling, equal partials, or any bits at all."""
    kind = rng.randrange(5)
    if kind == 0:
        m = [rng.gauss(0, 4) for _ in range(segments)]
        s = [1 + 99 * rng.random() for _ in range(segments)]
        o = [[rng.gauss(0, 1) for _ in range(rank)] for _ in range(segments)]
    elif kind == 1:
        m = [rng.uniform(-400, 400) for _ in range(segments)]
        s = [abs(any_float32(rng, 0, 254)) or 1.0 for _ in range(segments)]
        o = [[any_float32(rng, 0, 254) for _ in range(rank)] for _ in range(segments)]
    elif kind == 2:
        m = [float(rng.randint(-3, 3)) for _ in range(segments)]
        s = [float(rng.randint(1, 9)) for _ in range(segments)]
        o = [
            [rng.choice([-1, 1]) * 2.0 ** (20 - m[i]) + rng.random() for _ in range(rank)]
            for i in range(segments)
        ]
    elif kind == 3:
        c = [any_float32(rng, 120, 134) for _ in range(rank)]
        m = [rng.gauss(0, 60) for _ in range(segments)]
        s = [float(rng.randint(1, 255)) for _ in range(segments)]
        o = [[x * s[i] for x in c] for i in range(segments)]
    else:
        m = [any_float32(rng, 0, 254) for _ in range(segments)]
        s = [abs(any_float32(rng, 0, 254)) or 1.0 for _ in range(segments)]
        o = [[any_float32(rng, 0, 254) for _ in range(rank)] for _ in range(segments)]
    for i in range(segments):
        if rng.random() < 0.1:
            m[i], s[i] = rng.choice([(-math.inf, 1.0), (0.0, 0.0)])
    return m, s, o


def as_floats(tensor: torch.Tensor):
    return tensor.cpu().double().tolist()


@pytest.mark.parametrize(
    ("segments", "rows", "rank"), [(1, 120, 3), (2, 120, 3), (5, 80, 3), (24, 30, 2), (130, 8, 2)]
)
def test_random_rows(segments, rows, rank, device):
    rng = random.Random(segments)
    drawn = [draw(rng, segments, rank) for _ in range(rows)]
    m, s, o = (
        torch.tensor([row[i] for row in drawn], dtype=torch.float32, device=device)[:, None] for i in range(3)
    )
    lens = torch.full((rows,), segments, dtype=torch.int32, device=device)
    got = {dtype: merge_mla_segments_triton(o, m, s, lens, 1, dtype) for dtype in RULES}
    lse = as_floats(got[torch.float32][1][:, 0])
    output = {dtype: as_floats(y[:, 0]) for dtype, (y, _) in got.items()}
    for i in range(rows):
        exact = ExactRow(as_floats(o[i, 0]), as_floats(m[i, 0]), as_floats(s[i, 0]))
        if not exact.live:
            assert lse[i] == -math.inf
            continue
        exact.solve(segments)
        assert margin(lse[i], exact.lse, exact.lse_slack, torch.float32) <= 1
        for dtype in RULES:
            for r in range(rank):
                assert margin(output[dtype][i][r], exact.y[r], exact.y_slack[r], dtype) <= 1, (dtype, i, r)
    for y, other in got.values():
        assert torch.equal(other.view(torch.int32), got[torch.float32][1].view(torch.int32)), y.dtype


def flat_rows():
    rng = random.Random(7)
    for exponent in range(-149, 128, 3):  # s a power of two, m anything
        yield any_float32(rng, 0, 254), 2.0**exponent
        yield any_float32(rng, 100, 135), 2.0**exponent
        yield -exponent + any_float32(rng, 90, 125), 2.0**exponent
    for whole in range(-149, 127, 3):  # m an integer, s anything, their sum near 0
        yield float(-whole), 2.0**whole * (1 + rng.choice([1, 2, 4, 1 << 22]) * 2.0**-23)
        yield float(-whole), abs(any_float32(rng, 0, 254)) or 1.0
        yield float(-whole), math.nextafter(2.0**whole, 0) if whole < -125 else 2.0**whole * (1 - 2.0**-24)
    for code in (1, 2, 3, 5, 1000, 0x7FFFFF, 0x800000, 0x800001):  # results that are subnormal
        yield code * 2.0**-149, 1.0
        yield -code * 2.0**-149, 1.0
    yield 2.0**127 * 1.5, 3.0


def test_flat_bound_of_the_lse(device):
    """One live segment, m an integer or s a power of two: no second term, subnormal results included."""
    rows = [(m, s) for m, s in flat_rows() if torch.tensor(s).float().item() > 0]
    m = torch.tensor([row[0] for row in rows], device=device)[:, None, None]
    s = torch.tensor([row[1] for row in rows], device=device)[:, None, None]
    lens = torch.ones(len(rows), dtype=torch.int32, device=device)
    lse = merge_mla_segments_triton(m[..., None], m, s, lens, 1, torch.float32)[1]
    got, m, s = as_floats(lse.flatten()), as_floats(m.flatten()), as_floats(s.flatten())
    subnormal = 0
    for i in range(len(rows)):
        exact = ExactRow([[0.0]], [m[i]], [s[i]]).solve(1)
        assert exact.lse_slack == 0
        assert margin(got[i], exact.lse, exact.lse_slack, torch.float32) <= 1, (m[i].hex(), s[i].hex())
        subnormal += 0 < abs(got[i]) < 2.0**-126
    assert subnormal >= 8


def test_equal_quotients_come_out_exactly(device):
    """o = c·s: the output is c, whatever the weights, in every dtype that holds c."""
    rng = random.Random(3)
    for c in (1.0, -0.75, 1.125):
        m = [rng.gauss(0, 20) for _ in range(17)]
        s = [float(rng.randint(1, 1000)) for _ in range(17)]
        for dtype in RULES:
            if dtype in (torch.float8_e5m2, torch.float8_e5m2fnuz) and c == 1.125:
                continue
            assert merge_row(m, s, [c * x for x in s], device, dtype=dtype)[0] == [c]


def test_shift_and_scale(device):
    """m + k, and o·2^k with s·2^k, leave the output's bits; o·2^k scales it."""
    rng = random.Random(4)
    m = [rng.randint(-2000, 2000) / 64 for _ in range(9)]
    s = [1 + rng.randint(0, 2**20) / 2.0**20 for _ in range(9)]
    o = [rng.gauss(0, 1) for _ in range(9)]
    y = merge_row(m, s, o, device)[0]
    for k in (-40, -3, 1, 77):
        assert merge_row([x + k for x in m], s, o, device)[0] == y
        scaled = [x * 2.0**k for x in o]
        assert merge_row(m, [x * 2.0**k for x in s], scaled, device)[0] == y
        assert merge_row(m, s, scaled, device)[0] == [y[0] * 2.0**k]


def test_bounds_are_the_contract():
    bounds = tomllib.loads(resources.files("mla_merge").joinpath("bounds.toml").read_text("utf-8"))
    default = {"ulp": 0.501, "unit_roundoff_log2": -53, "per_segment": 1, "constant": 16, "per_exponent": 1}
    assert bounds["default"] == default
    assert {measured["ulp"] for measured in bounds["measured"].values()} == {0.501}
