"""The merge of a cascade's states: normalised partials, in float16.

Randn, S of 2, 8 and 33, rtol = atol = 1e-3. Chosen here, in favour of the gate: both results are
compared, dtypes and shapes included; maxima and masses are drawn apart; tokens, heads and rank are no
powers of two; every segment is active, as this layout has no lengths; the exact formula is the
reference.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fuzz.case import MergeCase
from verify.museum.gates.draw import drawn
from verify.museum.gates.gate import Gate
from verify.museum.gates.reference import expected

_SEGMENTS = (2, 8, 33)
_TOKENS, _HEADS, _RANK = 3, 5, 80


def cases() -> Iterator[MergeCase]:
    """Yield a case for each number of segments."""
    generator = torch.Generator().manual_seed(0)
    for segments in _SEGMENTS:
        yield drawn(generator, (_TOKENS, _HEADS, segments, _RANK), "float16", normalised=True)


def compare(case: MergeCase, output: Tensor, lse: Tensor) -> None:
    """Compare both results within 1e-3."""
    y, wanted = expected(case)
    torch.testing.assert_close(output, y.to(torch.float16), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(lse, wanted.float(), rtol=1e-3, atol=1e-3)


CASCADE = Gate(
    name="cascade",
    inputs="randn, S of 2, 8 and 33; float16",
    tolerance="rtol = atol = 1e-3",
    cases=cases,
    compare=compare,
)
