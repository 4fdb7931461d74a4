import pytest
import torch

from verify.subjects.guard import MARKERS, GuardedAllocations, is_marker


def allocators(dtype):
    plain = torch.zeros(3, 4, dtype=torch.uint8).to(dtype)
    return {
        "empty": lambda: torch.empty(3, 4, dtype=dtype),
        "empty_like": lambda: torch.empty_like(plain),
        "new_empty": lambda: plain.new_empty(3, 4),
        "empty_strided": lambda: torch.empty_strided((3, 4), (1, 3), dtype=dtype),
    }


@pytest.mark.parametrize("dtype", list(MARKERS), ids=str)
@pytest.mark.parametrize("name", list(allocators(torch.float32)))
def test_an_allocation_is_marked_everywhere_and_a_marker_is_a_nan(dtype, name):
    with GuardedAllocations() as guard:
        made = allocators(dtype)[name]()
    assert made.dtype == dtype
    assert made.shape == (3, 4)
    assert bool(made.double().isnan().all())
    # The fnuz formats have one NaN, so that a marker cannot be told from a NaN that was written.
    assert bool(is_marker(made).all()) is ("fnuz" not in str(dtype))
    made.copy_(torch.ones(3, 4).to(dtype))
    assert not is_marker(made).any()
    assert not guard.touched()


@pytest.mark.parametrize("dtype", list(MARKERS), ids=str)
@pytest.mark.parametrize("place", [-1, 12])
def test_a_write_beside_an_allocation_is_noticed(dtype, place):
    with GuardedAllocations() as guard:
        made = torch.empty(3, 4, dtype=dtype)
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


def test_other_tensors_are_left_alone():
    with GuardedAllocations() as guard:
        assert not torch.zeros(3).isnan().any()
        assert torch.empty(0).numel() == 0
        assert torch.empty(3, dtype=torch.int32).dtype == torch.int32
    assert not guard.touched()
    assert bool(is_marker(torch.full((2,), float("nan"))).any()) is False
