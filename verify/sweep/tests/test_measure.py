"""One call of a sweep: what it counts, where it says that it is, what it notices."""

from __future__ import annotations

import pytest
import torch

from fuzz.formats import FORMATS
from verify.bounds import load_bounds
from verify.sweep.measure import Points, measure
from verify.sweep.registry import PROBES
from verify.sweep.tests.kernels import HONEST, Float32, spoilt, subject_of

ONE = 0x3F800000
DEFAULT = load_bounds()


def swept(subject, name, points, dtype="float32", whole=False, bounds=DEFAULT):
    return measure(subject, PROBES[name], Points(points=points, whole=whole), dtype, bounds)


def some(name, dtype="float32", count=2000):
    probe = PROBES[name]
    points = probe.subset(1, FORMATS[dtype])
    points = points[probe.shape(points) == probe.shape(points[:1])]
    return points[:: max(1, len(points) // count)]


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("dtype", ["float32", "float8_e4m3fnuz"])
def test_an_honest_merge_is_clean(name, dtype):
    points = some(name, dtype)
    tally = swept(HONEST, name, points, dtype)
    assert tally.clean
    assert (tally.points, tally.misplaced, tally.unsupported) == (len(points), 0, {})
    assert tally.judged_ulp <= 0.501
    assert sum(cell.points for cell in tally.cells.values()) == len(points)
    assert sum(cell.misrounded for cell in tally.cells.values()) == tally.misrounded
    assert max(cell.ulp for cell in tally.cells.values()) == tally.max_ulp


def up(x):
    return (x.view(torch.int32) + 1).view(torch.float32)


@pytest.mark.parametrize("whole", [True, False])
def test_one_wrong_point_is_found_where_it_is(whole):
    wrong = ONE + 12345
    subject = spoilt(lambda o, m, s: s[..., 0] == _float(wrong), lse=up)
    points = torch.arange(ONE + 10000, ONE + 20001)
    tally = swept(subject, "log", points, whole=whole)
    assert (tally.failed, tally.misrounded, tally.misplaced) == (1, 1, 0)
    assert 0.5 < tally.max_ulp <= 1.5
    assert tally.judged_ulp == tally.max_ulp
    assert tally.worst(3) == [wrong]
    assert tally.cells[wrong >> 19].misrounded == 1


def _float(code: int) -> float:
    return torch.tensor(code, dtype=torch.int32).view(torch.float32).item()


@pytest.mark.parametrize("bits_of_padding", [0, 700])
def test_neighbours_are_mapped_as_any_points_are(bits_of_padding):
    points = torch.arange((1 << 19) * 3 - bits_of_padding, (1 << 19) * 4 + 77)
    probe = PROBES["divide"]
    a, b = (swept(HONEST, probe.name, points, "bfloat16", whole=whole) for whole in (True, False))
    assert a == b
    assert sorted(a.cells) == ([2, 3, 4] if bits_of_padding else [3, 4])


def test_nan_for_a_number_is_misplaced():
    subject = spoilt(lambda o, m, s: (o == 5)[:, 0], output=lambda y: torch.full_like(y, torch.nan))
    points = torch.arange(_code(4.99), _code(5.01))
    tally = swept(subject, "cast", points)
    assert (tally.failed, tally.misplaced, tally.misrounded, tally.max_ulp) == (1, 1, 0, 0)
    assert tally.worst(1) == [_code(5.0)]
    assert tally.cells[_code(5.0) >> 19].ulp == torch.inf
    assert sum(tally.counts) == len(points) - 1


def _code(value: float) -> int:
    return int(torch.tensor(value, dtype=torch.float32).view(torch.int32))


def test_a_number_for_nan_is_misplaced():
    subject = spoilt(lambda o, m, s: o[:, 0].isnan(), output=torch.zeros_like)
    tally = swept(subject, "cast", torch.arange((255 << 23) - 5, (255 << 23) + 6))
    assert (tally.failed, tally.misplaced) == (5, 5)


def test_what_was_never_written_fails():
    def merge(o, m, s, lens, tile, dtype):
        output = torch.empty(o[:, :, 0].shape, dtype=dtype)
        output[:-1] = o[:-1, :, 0]
        return output, torch.zeros(m.shape[:2])

    points = torch.arange(ONE, ONE + 512 * 3)
    tally = swept(subject_of(merge), "cast", points)
    assert tally.failed == 512


def test_a_nan_that_is_the_marker_is_no_fault():
    def merge(o, m, s, lens, tile, dtype):
        return o[:, :, 0].clone(), torch.zeros(m.shape[:2])

    tally = swept(subject_of(merge), "cast", torch.arange(0x7FE5A5A5 - 3, 0x7FE5A5A5 + 3))
    assert tally.clean


def test_a_float32_merge_shows_its_known_errors():
    tally = swept(subject_of(Float32()), "exp2", some("exp2"))
    assert tally.failed > 0
    assert tally.max_normal_ulp < 3  # exp2's own error
    assert tally.max_ulp > 1e6  # what is flushed
    cancelled = swept(subject_of(Float32()), "cancel", some("cancel"))
    assert cancelled.max_ulp > 1e6


def test_bounds_of_a_float32_merge_excuse_and_accept_it():
    bounds = load_bounds("fp32")
    for name in ("exp2", "cancel", "log"):
        tally = swept(subject_of(Float32()), name, some(name), bounds=bounds)
        assert tally.failed == 0
        assert tally.judged_ulp <= 0.5
        assert tally.max_ulp > 0.5
    assert swept(subject_of(Float32()), "exp2", some("exp2"), bounds=bounds).excused


def test_a_call_that_gives_nothing_is_a_fault_without_points():
    def merge(*_):
        raise RuntimeError("no")

    tally = swept(subject_of(merge), "log", torch.arange(ONE, ONE + 4))
    assert tally.points == 0
    assert not tally.clean
    assert list(tally.faults) == ["CRASH: the call raised RuntimeError: no"]


def test_changed_inputs_are_a_fault():
    def merge(o, m, s, lens, tile, dtype):
        returned = HONEST.merge(o, m, s, lens, tile, dtype)
        m.fill_(7.0)
        return returned

    tally = swept(subject_of(merge), "log", torch.arange(ONE, ONE + 4))
    assert (tally.points, tally.failed) == (4, 0)
    assert not tally.clean


def test_what_is_not_supported_is_counted():
    subject = subject_of(HONEST.merge, S="pow2 8..128")
    assert swept(subject, "log", torch.arange(ONE, ONE + 4)).unsupported == {"S outside pow2 8..128": 4}
    assert swept(subject, "partition", some("partition")).points > 0


def test_what_float64_leaves_undecided_the_oracle_decides(monkeypatch):
    probe = PROBES["log"]
    exact = type(probe).exact

    def doubting(self, points, fmt):
        values, doubtful = exact(self, points, fmt)
        values.rounded[::3] = 0.0  # what is doubted must not be used
        doubtful[::3] = True
        return values, doubtful

    monkeypatch.setattr(type(probe), "exact", doubting)
    tally = swept(HONEST, "log", torch.arange(ONE + 50, ONE + 80))
    assert tally.handed_on == 10
    assert tally.clean
    assert tally.misrounded == 0


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROBES)
def test_a_gpu_gives_the_tally_of_a_cpu(name):
    points = some(name, "bfloat16")
    here, there = (swept(HONEST, name, points.to(device), "bfloat16") for device in ("cpu", "cuda"))
    assert here == there
