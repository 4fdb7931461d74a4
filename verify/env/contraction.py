"""Whether a product and a sum are rounded once, as one operation, or twice."""

from __future__ import annotations

from functools import partial

import torch

from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import witness

SEPARATE, FUSED, OTHER = "rounded twice", "fused", "another number"

_FOLLOWS = (
    "every sum of weighted values: a kernel whose error is derived from exact products, two-product tricks "
    "above all, is off by more, and bits differ between backends"
)


def _find(operation: str, dtype: torch.dtype, digits: int, engine: Engine, _: int) -> Answer:
    """Compute (1 + e)² − (1 + 2e) with e² half a last place of the square: 0 if the product is rounded."""
    e = 2.0**-digits
    operands = tuple(torch.tensor([x], dtype=dtype) for x in (1 + e, 1 + e, 1 + 2 * e))
    got = engine.compute(operation, *operands)
    answer = {0.0: SEPARATE, e * e: FUSED}.get(float(got.double()), OTHER)
    return Answer(answer=answer, witness=witness(operands, got))


def _probe(operation: str, dtype: torch.dtype, digits: int, question: str) -> Probe:
    explicit = operation == "fma"
    return Probe(
        name=f"contraction/{operation}/{str(dtype).removeprefix('torch.')}",
        question=question,
        needs=frozenset((operation,)),
        answers=(FUSED, SEPARATE, OTHER) if explicit else (SEPARATE, FUSED, OTHER),
        follows=_FOLLOWS,
        find=partial(_find, operation, dtype, digits),
    )


PROBES = tuple(
    _probe(operation, dtype, digits, f"{question} in {str(dtype).removeprefix('torch.')}?")
    # e² is 2^-24 or 2^-54: half of float32's last place at 1, a quarter of float64's
    for dtype, digits in ((torch.float32, 12), (torch.float64, 27))
    for operation, question in (
        ("multiply, then subtract", "Is a·b − c contracted by default"),
        ("multiply, then subtract, not fused", "Is a·b − c contracted where fusion is switched off"),
        ("fma", "Is an fma that is asked for one"),
    )
)
