"""The reduction of a decode: partials that are not normalised, in bfloat16.

Outputs randn, statistics randn · 4, finite, S from 2 to 128, rtol = atol = 2e-2 on output and lse.
Chosen here, in favour of the gate: every power of two for S; statistics that are the maxima and, by
their magnitude, the masses; production's rank of 512; a number of heads and of tokens that is no power
of two; a token with all segments active and others of any length up to its own, since this layout has
lengths; the exact formula as the reference, where others take another kernel; assert_close, which looks
at dtypes and shapes too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.museum.gates.draw import drawn, some_lengths
from verify.museum.gates.gate import Gate
from verify.museum.gates.reference import expected

_SEGMENTS = (2, 4, 8, 16, 32, 64, 128)
_TOKENS, _HEADS, _RANK = 3, 3, 512


def cases() -> Iterator[MergeCase]:
    """Yield a case for each number of segments."""
    generator = torch.Generator().manual_seed(0)
    for segments in _SEGMENTS:
        lengths = some_lengths(generator, _TOKENS, segments)
        shape = (_TOKENS, _HEADS, segments, _RANK)
        yield drawn(generator, shape, "bfloat16", spread=4.0, lengths=lengths)


def compare(case: MergeCase, output: Tensor, lse: Tensor) -> None:
    """Compare both results within 2e-2."""
    y, wanted = expected(case)
    torch.testing.assert_close(output, y.to(torch.bfloat16), rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(lse, wanted.float(), rtol=2e-2, atol=2e-2)


REDUCE = Gate(
    name="reduce",
    inputs="outputs randn, statistics randn · 4, finite, S from 2 to 128, lengths drawn; bfloat16",
    tolerance="rtol = atol = 2e-2, output and lse",
    cases=cases,
    compare=compare,
)
