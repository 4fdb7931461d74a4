"""Every probe says the exact value of every point, as the oracle does, and covers what it should."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from fuzz.formats import FORMATS, decode
from verify.oracle.evaluate import evaluate
from verify.oracle.values import ExactValues
from verify.sweep.exponential import Exponential
from verify.sweep.lengths import SEGMENTS, TILES
from verify.sweep.points import INFINITE, SIGN, codes, floats, midpoints
from verify.sweep.registry import PROBES

UNITS = [
    (name, dtype)
    for name, probe in PROBES.items()
    for dtype in (FORMATS if probe.result == "output" else ("float32",))
]


def sampled(probe, dtype, count=1500):
    """Return points of one shape: all over the subset, and about 1."""
    points = probe.subset(5, FORMATS[dtype])
    points = points[probe.shape(points) == probe.shape(points[len(points) // 2 :][:1])]
    special = torch.tensor([0, 1, INFINITE - 1, INFINITE, INFINITE + 1]) | torch.tensor([[0], [SIGN]])
    inside = points[torch.isin(points, special.flatten())]
    return torch.cat([inside, points[:: max(1, len(points) // count)]])


@pytest.mark.parametrize(("name", "dtype"), UNITS)
def test_exact_values_are_the_oracles(name, dtype):
    probe = PROBES[name]
    points = sampled(probe, dtype)
    fmt = FORMATS[dtype]
    mine, doubtful = probe.exact(points, fmt)
    case = probe.case(points, dtype)
    inputs = (case.segm_output, case.segm_max, case.segm_expsum)
    exact = evaluate(*inputs, case.active, fmt, FORMATS["float32"], processes=1)
    theirs = getattr(exact, probe.result)
    sure = ~doubtful
    assert int(doubtful.sum()) <= 3
    for part in dataclasses.fields(ExactValues):
        a, b = getattr(mine, part.name)[sure], getattr(theirs, part.name).flatten()[sure]
        atol = 2.0**-12 if part.name == "residual" else 0.0
        torch.testing.assert_close(a.double(), b.double(), rtol=0, atol=atol, equal_nan=True)


def test_special_points_of_the_exponential():
    x = torch.tensor([-0.0, -1e-45, -1.0, -149.0, -150.0, -150.1, -1e38, -math.inf])
    probe = Exponential()
    for dtype in FORMATS:
        mine, doubtful = probe.exact(codes(x), FORMATS[dtype])
        case = probe.case(codes(x), dtype)
        inputs = (case.segm_output, case.segm_max, case.segm_expsum)
        exact = evaluate(*inputs, case.active, FORMATS[dtype], FORMATS["float32"], processes=1).output
        assert not bool(doubtful.any())
        assert mine.rounded.tolist() == exact.rounded.flatten().tolist()
        assert mine.exponent.tolist() == exact.exponent.flatten().tolist()


@pytest.mark.parametrize("name", PROBES)
def test_subset_lies_inside_and_depends_on_the_seed_alone(name):
    probe = PROBES[name]
    fmt = FORMATS["bfloat16"]
    points = probe.subset(0, fmt)
    assert bool((points[1:] > points[:-1]).all())
    inside = [(points >= start) & (points < stop) for start, stop in probe.ranges]
    assert torch.equal(torch.stack(inside).sum(0), torch.ones_like(points))
    assert torch.equal(points, probe.subset(0, fmt))
    assert not torch.equal(points, probe.subset(1, fmt))


@pytest.mark.parametrize("name", ["cast", "divide"])
def test_subset_holds_boundaries_and_narrow_formats(name):
    points = set(PROBES[name].subset(0, FORMATS["float32"]).tolist())
    assert len(points) < 200_000
    for exponent in range(256):
        for near in range(-3, 4):
            for sign in (0, 1 << 31):
                code = (exponent << 23) + near
                assert code < 0 or sign | code in points
    for narrow in ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2fnuz"):
        fmt = FORMATS[narrow]
        values = torch.tensor([decode(code, fmt) for code in range(1 << fmt.bits)]).float()
        values = values[values.isfinite()]
        assert set(codes(values).tolist()) <= points
    assert set(range(256)) <= points
    subnormals = torch.tensor([code for code in points if 0 < code < 1 << 23])
    assert len(torch.unique(torch.log2(subnormals.double()).floor())) == 23


@pytest.mark.parametrize("dtype", [name for name in FORMATS if name != "float32"])
def test_cast_meets_every_tie(dtype):
    fmt = FORMATS[dtype]
    exact, _ = PROBES["cast"].exact(midpoints(fmt), fmt)
    ties = int((exact.residual.abs() == 0.5).sum())
    # One below each positive finite value and one above the largest, of both signs; what saturates is no tie.
    assert ties == 2 * (fmt.max_code + (not fmt.saturates))


def test_sizes():
    size = {name: sum(b - a for a, b in probe.ranges) for name, probe in PROBES.items()}
    assert size["cast"] == size["divide"] == 1 << 32
    assert size["log"] == size["divide-by"] == (255 << 23) - 1
    assert size["scale"] == 2 * (255 << 23)
    assert size["exp2"] == (255 << 23) + 1
    assert size["cancel"] == size["cancel-between"] == 253 << 24
    assert size["partition"] == len(SEGMENTS) * len(TILES) * ((1 << 20) + 1 + 64 + 10 * 129 + 64)


def test_cancel_stands_about_powers_of_two():
    first, last, middle = (100 << 24), (100 << 24) + (1 << 24) - 1, (100 << 24) + (1 << 23)
    rows = PROBES["cancel"].rows(torch.tensor([first, middle, last]))
    assert rows.m.flatten().tolist() == [25.0] * 3
    assert rows.s.flatten().tolist() == [2.0**-26, 2.0**-25, 2.0**-24 * (1 - 2.0**-24)]
    ends = PROBES["cancel"].rows(torch.tensor([0, (253 << 24) - 1]))
    assert ends.m.flatten().tolist() == [125.0, -127.0]
    assert bool(ends.s.isfinite().all())
    between = PROBES["cancel-between"].rows(torch.arange(253) << 24)
    f = between.m.flatten().double() - rows_of_k()
    assert sorted(set(f.abs().tolist())) == [2.0**-j for j in range(17, 0, -1)]
    assert {*torch.sign(f).tolist()} == {1.0, -1.0}


def rows_of_k() -> torch.Tensor:
    return 125.0 - torch.arange(253).double()


def test_partition_poisons_what_is_not_active():
    probe = PROBES["partition"]
    start = probe.ranges[8 * 1 + 3][0]  # S = 16, tile 8
    rows = probe.rows(torch.tensor([start, start + 1, start + 129]))
    assert (rows.lengths.tolist(), rows.tile_size) == ([0, 1, 129], 8)
    assert (~rows.m.isnan()).sum(1).tolist() == [0, 1, 9]
    for part in (rows.s, rows.o):
        assert torch.equal(part.isnan(), rows.m.isnan())
    longest = probe.rows(torch.tensor([probe.ranges[0][1] - 1])).lengths
    assert longest.tolist() == [2**31 - 1]


def test_columns_share_a_row_and_keep_their_order():
    points = torch.arange(1000, 1000 + 1024)
    case = PROBES["divide"].case(points, "float32", rank=512)
    assert (case.T, case.H, case.S, case.R) == (2, 1, 1, 512)
    assert torch.equal(case.segm_output.flatten(), floats(points))
    assert case.segm_expsum.tolist() == [[[3.0]], [[3.0]]]
