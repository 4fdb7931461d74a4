"""Wrong arguments are refused in one line that names them, before anything runs."""

import numpy as np
import pytest
import torch

from mla_merge import merge_mla_segments_triton
from mla_merge.arguments import check
from mla_merge.tests.rows import random_partials, same_bits


def good(device="cpu"):
    o, m, s, lens = random_partials(2, 3, 4, 5, device)
    names = ("segm_output", "segm_max", "segm_expsum", "seq_lens", "tile_size", "out_dtype")
    return dict(zip(names, (o, m, s, lens, 16, torch.float32), strict=True))


WRONG = [
    ("segm_output", lambda a: a["segm_output"].cpu().numpy(), TypeError, "segm_output is ndarray"),
    ("segm_output", lambda a: a["segm_output"].double(), TypeError, "segm_output has dtype torch.float64"),
    ("segm_output", lambda a: a["segm_output"][0], ValueError, r"segm_output has shape \[3, 4, 5\]"),
    (
        "segm_output",
        lambda a: a["segm_output"].to_sparse(),
        ValueError,
        "segm_output has layout torch.sparse_coo",
    ),
    ("segm_output", lambda a: a["segm_output"][..., :0], ValueError, "must be at least 1"),
    ("segm_output", lambda a: a["segm_output"][:, :, :0], ValueError, "must be at least 1"),
    (
        "segm_output",
        lambda a: a["segm_output"].to("meta"),
        ValueError,
        r"segm_max is on \S+ but segm_output is on meta",
    ),
    ("segm_max", lambda a: a["segm_max"].half(), TypeError, "segm_max has dtype torch.float16"),
    (
        "segm_max",
        lambda a: a["segm_max"][:, :2],
        ValueError,
        r"segm_max has shape \[2, 2, 4\]: \[2, 3, 4\] is wanted",
    ),
    ("segm_expsum", lambda a: a["segm_expsum"].mT, ValueError, r"segm_expsum has shape \[2, 4, 3\]"),
    ("segm_expsum", lambda a: a["segm_expsum"].to("meta"), ValueError, "segm_expsum is on meta"),
    ("seq_lens", lambda a: a["seq_lens"].float(), TypeError, "torch.int32 or torch.int64 is wanted"),
    ("seq_lens", lambda a: a["seq_lens"][:1], ValueError, r"seq_lens has shape \[1\]: \[2\] is wanted"),
    ("seq_lens", lambda a: None, TypeError, "seq_lens is NoneType"),
    ("tile_size", lambda a: True, TypeError, "tile_size is bool"),
    ("tile_size", lambda a: 16.0, TypeError, "tile_size is float"),
    ("tile_size", lambda a: torch.tensor(16), TypeError, "tile_size is Tensor"),
    ("tile_size", lambda a: 0, ValueError, "tile_size is 0"),
    ("tile_size", lambda a: -4, ValueError, "tile_size is -4"),
    ("tile_size", lambda a: 2**31, ValueError, "tile_size is 2147483648"),
    ("out_dtype", lambda a: "bfloat16", TypeError, "out_dtype is 'bfloat16': pass a torch.dtype"),
    ("out_dtype", lambda a: torch.float64, ValueError, "float32, float16, bfloat16, float8_e4m3fn"),
]


@pytest.mark.parametrize(("name", "change", "error", "message"), WRONG)
def test_refused(name, change, error, message, device, monkeypatch):
    arguments = good(device)
    arguments[name] = change(arguments)
    monkeypatch.setattr("mla_merge.launcher.merge_kernel", None)  # a launch would raise TypeError of its own
    with pytest.raises(error, match=message) as caught:
        merge_mla_segments_triton(**arguments)
    assert "\n" not in str(caught.value)


def test_cpu_without_the_interpreter():
    with pytest.raises(
        ValueError, match="TRITON_INTERPRET=1 in the environment before triton is first imported"
    ):
        check(**good(), interpreted=False)


def test_device_that_is_neither():
    arguments = good("meta")
    with pytest.raises(ValueError, match="segm_output is on meta"):
        check(**arguments, interpreted=True)


def test_index_integers_are_tiles(device):
    arguments = good(device)
    expected = merge_mla_segments_triton(**arguments)
    for tile in (np.int32(16), np.int64(16)):
        assert same_bits(expected, merge_mla_segments_triton(**(arguments | {"tile_size": tile})))
