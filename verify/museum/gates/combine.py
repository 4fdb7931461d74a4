"""The combination of splits: normalised partials, some of which have no mass.

Randn, S from 1 to 133, half of the segments −∞ in some rows, in three dtypes; the largest error of the
output may be twice that of casting the float32 reference, or 1e-5; the lse may be 1e-5 off. Chosen here,
in favour of the gate: S is one, powers of two and others, each in every dtype; half of one segment is
that one, so that a row without mass is among the cases; maxima and masses are drawn apart; every segment
is active, as this layout has no lengths; the reference is computed in float64; no relative tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.museum.gates.draw import drawn
from verify.museum.gates.gate import Gate
from verify.museum.gates.reference import expected

_SEGMENTS = (1, 2, 5, 16, 65, 133)
_DTYPES = ("float32", "float16", "bfloat16")
_TOKENS, _HEADS, _RANK = 3, 2, 64
_FLOOR = 1e-5


def cases() -> Iterator[MergeCase]:
    """Yield a case for each number of segments and dtype, the upper half of its first token without mass."""
    generator = torch.Generator().manual_seed(0)
    for segments in _SEGMENTS:
        for dtype in _DTYPES:
            case = drawn(generator, (_TOKENS, _HEADS, segments, _RANK), dtype, normalised=True)
            m = case.segm_max.clone()
            m[0, :, segments // 2 :] = -torch.inf
            yield replace(case, segm_max=m)


def compare(case: MergeCase, output: Tensor, lse: Tensor) -> None:
    """Compare the largest error with that of the cast, and the lse within 1e-5."""
    y, wanted = expected(case)
    reference = y.float()
    cast = (reference.to(FORMATS[case.out_dtype].torch_dtype).float() - reference).abs().max().item()
    error = (output.float() - reference).abs().max().item()
    if not error <= max(2 * cast, _FLOOR):  # a NaN is not
        raise AssertionError(f"largest error {error:g}, that of the cast {cast:g}")
    torch.testing.assert_close(lse, wanted.float(), rtol=0.0, atol=_FLOOR)


COMBINE = Gate(
    name="combine",
    inputs="randn, S from 1 to 133, half of the segments −∞ in some rows; float32, float16, bfloat16",
    tolerance="largest error ≤ 2 × that of casting the reference, or 1e-5; lse 1e-5",
    cases=cases,
    compare=compare,
)
