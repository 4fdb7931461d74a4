"""The unit test: two rows of one number each, compared with numbers written down beside them.

T = 2, H = 1, S = 2, R = 1, tile 1. The first row is m = [0, 1], s = 1, o = [1, 3]; the second has no
key, over 99 everywhere. Nothing was left to choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from fuzz.case import Domain, MergeCase
from verify.museum.gates.gate import Gate


def cases() -> Iterator[MergeCase]:
    """Yield the one case."""
    yield MergeCase(
        segm_output=torch.tensor([1.0, 3.0, 99.0, 99.0]).reshape(2, 1, 2, 1),
        segm_max=torch.tensor([0.0, 1.0, 99.0, 99.0]).reshape(2, 1, 2),
        segm_expsum=torch.tensor([1.0, 1.0, 99.0, 99.0]).reshape(2, 1, 2),
        seq_lens=torch.tensor([2, 0], dtype=torch.int32),
        tile_size=1,
        out_dtype="float32",
        domain=Domain.STRESS,
    )


def compare(case: MergeCase, output: Tensor, lse: Tensor) -> None:
    """Compare by assert_close with its defaults, dtype and shape included."""
    device = case.segm_output.device
    torch.testing.assert_close(output, torch.tensor([[[7 / 3]], [[0.0]]], device=device))
    torch.testing.assert_close(lse, torch.tensor([[math.log(3)], [-math.inf]], device=device))


UNIT = Gate(
    name="unit",
    inputs="T = 2, H = 1, S = 2, R = 1: two segments written down, and a row of length 0 over 99s; float32",
    tolerance="assert_close by default",
    cases=cases,
    compare=compare,
)
