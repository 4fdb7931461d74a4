import pytest
import torch

from verify.subjects.guard import GuardedAllocations, is_marker, is_second, is_telling

FLOATS = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
]
INTEGERS = [torch.uint8, torch.int16, torch.int32, torch.int64]


def allocators(dtype):
    plain = torch.zeros(3, 4, dtype=torch.uint8).to(dtype)
    return {
        "empty": lambda: torch.empty(3, 4, dtype=dtype),
        "empty_like": lambda: torch.empty_like(plain),
        "new_empty": lambda: plain.new_empty(3, 4),
        "empty_strided": lambda: torch.empty_strided((3, 4), (1, 3), dtype=dtype),
    }


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", list(allocators(torch.float32)))
def test_an_allocation_is_marked_everywhere_and_a_marker_is_a_nan(dtype, name):
    with GuardedAllocations() as guard:
        made = allocators(dtype)[name]()
    assert made.dtype == dtype
    assert made.shape == (3, 4)
    assert bool(made.double().isnan().all())
    assert bool(is_marker(made).all())
    made.copy_(torch.ones(3, 4).to(dtype))
    assert not is_marker(made).any()
    assert not guard.touched()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_marker_is_no_nan_of_arithmetic_or_says_that_it_tells_nothing(dtype):
    nan = torch.zeros(1) / torch.zeros(1)
    common = torch.cat((nan, -nan, nan.neg().abs())).to(dtype)
    assert is_telling(dtype) is not bool(is_marker(common).any())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_where_a_marker_tells_nothing_there_is_a_second_filling(dtype):
    with GuardedAllocations(second=True):
        made = torch.empty(3, 4, dtype=dtype)
    assert bool(is_second(made).all())
    assert not is_marker(made).any()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_a_result_allocated_as_integers_is_marked_for_its_float(dtype):
    with GuardedAllocations():
        made = torch.empty(3, 4, dtype=dtype)
    floats = {1: torch.float8_e5m2, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64}
    assert bool(is_marker(made.view(floats[dtype.itemsize])).all())


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("place", [-1, 12])
@pytest.mark.parametrize("allocate", [torch.empty, torch.zeros])
def test_a_write_beside_an_allocation_is_noticed(dtype, place, allocate):
    with GuardedAllocations() as guard:
        made = allocate(3, 4, dtype=dtype)
    beside = made.as_strided((1,), (1,), made.storage_offset() + place)
    assert not guard.touched()
    beside.copy_(torch.ones(1).to(dtype))
    assert guard.touched()


def test_strides_are_those_that_were_asked_for():
    with GuardedAllocations():
        made = torch.empty_strided((3, 4), (1, 3), dtype=torch.float16)
        channels = torch.empty(1, 2, 3, 4, memory_format=torch.channels_last)
    assert made.stride() == (1, 3)
    assert channels.stride() == (24, 1, 8, 2)


def test_contents_are_kept_and_other_tensors_are_left_alone():
    given = torch.ones(3)
    with GuardedAllocations() as guard:
        assert torch.zeros(3).tolist() == [0.0] * 3
        assert torch.full((2,), 7).tolist() == [7, 7]
        assert torch.ones_like(given).tolist() == [1.0] * 3
        assert torch.empty(0).numel() == 0
        assert torch.zeros(2, dtype=torch.bool).tolist() == [False, False]
        assert torch.zeros(3, out=given) is given
    assert given.tolist() == [0.0] * 3
    assert not guard.touched()


@pytest.mark.parametrize(
    ("place", "inside"), [(0, True), (2, True), (3, False), (4, False), (5, True), (12, True)]
)
def test_a_write_between_the_rows_of_an_allocation_is_noticed(place, inside):
    with GuardedAllocations() as guard:
        made = torch.empty_strided((3, 3), (5, 1), dtype=torch.bfloat16)
    made.as_strided((1,), (1,), made.storage_offset() + place).fill_(1.0)
    assert guard.touched() is not inside
