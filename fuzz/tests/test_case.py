"""The case record: what it refuses, and what moving and copying keep."""

from dataclasses import replace

import pytest
import torch

from fuzz.layouts import LAYOUTS, laid_out
from fuzz.recipe import expand
from fuzz.tests.inspection import recipe


@pytest.fixture(name="case")
def _case():
    return expand(recipe("odd_shapes"))


def test_dimensions_follow_the_tensors(case):
    assert (case.T, case.H, case.S, case.R, case.outputs) == (3, 4, 8, 6, 72)
    assert case.active.tolist() == [8, 8, 8]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"segm_output": torch.zeros(3, 4, 8)},
            r"segm_output has shape \[3, 4, 8\], \[T, H, S, R\] is wanted",
        ),
        ({"segm_max": torch.zeros(3, 4, 7)}, r"segm_max has shape \[3, 4, 7\], \[3, 4, 8\] is wanted"),
        ({"segm_expsum": torch.zeros(3, 4, 8, dtype=torch.float64)}, "segm_expsum is torch.float64"),
        ({"seq_lens": torch.zeros(4, dtype=torch.int32)}, r"seq_lens has shape \[4\]"),
        ({"seq_lens": torch.zeros(3)}, "seq_lens is torch.float32"),
        ({"tile_size": 0}, "tile_size is 0"),
        ({"tile_size": 2**31}, "tile_size is 2147483648"),
        ({"out_dtype": "float7"}, "out_dtype is 'float7'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(case, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(case, **change)


def test_cases_without_tokens_or_heads_are_legal(case):
    none = replace(
        case,
        segm_output=torch.zeros(0, 4, 8, 6),
        segm_max=torch.zeros(0, 4, 8),
        segm_expsum=torch.zeros(0, 4, 8),
        seq_lens=torch.zeros(0, dtype=torch.int32),
    )
    assert none.outputs == 0
    assert none.active.tolist() == []


def test_moving_keeps_every_stride_and_offset():
    for name in LAYOUTS:
        case = expand(recipe("layouts", params={"layout": name}))
        moved = case.to("meta")
        for field in ("segm_output", "segm_max", "segm_expsum", "seq_lens"):
            before, after = getattr(case, field), getattr(moved, field)
            assert after.device.type == "meta"
            assert after.stride() == before.stride()
            assert after.storage_offset() == before.storage_offset()
            assert after.untyped_storage().nbytes() == before.untyped_storage().nbytes()


def test_a_contiguous_copy_has_equal_bits_and_its_own_memory():
    case = expand(recipe("layouts", params={"layout": "sliced"}))
    copy = case.contiguous()
    assert copy.layout == "contiguous"
    assert copy.segm_output.is_contiguous()
    assert torch.equal(copy.segm_output.view(torch.int32), case.segm_output.contiguous().view(torch.int32))
    copy.segm_output.zero_()
    assert bool(case.segm_output.any())


def test_layouts_keep_values_and_differ_in_memory():
    values = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    for name in LAYOUTS:
        if name.startswith("expanded"):
            with pytest.raises(ValueError, match="values differ along dimension"):
                laid_out(name, values)
            continue
        (view,) = laid_out(name, values)
        assert torch.equal(view, values)
        dense = view.is_contiguous() and view.storage_offset() == 0
        assert dense == (name == "contiguous")
    with pytest.raises(ValueError, match="layout is 'diagonal'"):
        laid_out("diagonal", values)
