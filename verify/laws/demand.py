"""What a law demands of a result, whether a result agrees, and how the worst disagreement is told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fuzz.formats import Format
from verify.laws.tolerance import numeric, ulp_at
from verify.observed import Fault, FaultKind, decimal, place_of_largest


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the rows of a variant stand in the case itself."""

    tokens: Tensor
    """[T'] int64: the token of each of the variant's tokens."""
    heads: Tensor
    """[H'] int64: the head of each of its heads."""

    def of(self, results: Tensor) -> Tensor:
        """Return a copy of the case's results [T, H, …] in the variant's order."""
        if results.element_size() > 1 or results.dtype == torch.bool:
            return results[self.tokens[:, None], self.heads]
        # Not every device can index an fp8 tensor.
        return results.view(torch.uint8)[self.tokens[:, None], self.heads].view(results.dtype)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a law demands of one result of a variant; shapes are that result's."""

    result: str
    """`output` or `lse`."""
    want: Tensor
    """The value demanded, in the result's dtype or in float64."""
    source: str
    """Where that value comes from, as in `where SOURCE has 3`."""
    allowed: Tensor | None = None
    """float64, how far from it a result may be; None for the same bits, zeros and NaNs being one each."""
    mask: Tensor | None = None
    """bool: where the law speaks; None for everywhere."""


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors of one shape are of one dtype and hold the same bits."""
    if a.dtype != b.dtype:
        return False
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return torch.equal(a.contiguous().view(integer), b.contiguous().view(integer))


def agrees(got: Tensor, demand: Demand, fmt: Format) -> Tensor:
    """Return the mask of results that are what is demanded; where the law is silent it means nothing."""
    want = demand.want
    if same_bits(got, want):
        return torch.ones_like(got, dtype=torch.bool)
    both_nan = got.double().isnan() & want.double().isnan()
    if demand.allowed is None:
        return (got.double() == want.double()) | both_nan
    # Not `error > allowed`: a NaN for a number must fail.
    return ((numeric(got, fmt) - numeric(want, fmt)).abs() <= demand.allowed) | both_nan


def worst(
    got: Tensor, failed: Tensor, demand: Demand, fmt: Format, place: Place, said: str
) -> tuple[float, Fault]:
    """Return the size in ulp of the worst failure, and its fault; its kind and detector are the caller's."""
    want = demand.want.double() if demand.allowed is None else numeric(demand.want, fmt)
    error = (got.double() - want) / ulp_at(want.abs(), fmt)
    # A NaN or an infinity on one side alone is worse than any number.
    size = torch.where(failed, error.abs().nan_to_num(nan=torch.inf), -1.0)
    where = place_of_largest(size)
    token, head = int(place.tokens[where[0]]), int(place.heads[where[1]])
    value, right, count = got[where], float(want[where]), int(failed.sum())
    measured = bool(error[where].isfinite())
    allowed = (
        None if demand.allowed is None else float(demand.allowed[where] / ulp_at(want[where].abs(), fmt))
    )
    more = f", and {count - 1} more like it" if count > 1 else ""
    fault = Fault(
        kind=FaultKind.BROKEN_LAW,
        detector="",
        message=f"with {said}, {demand.result} is {decimal(float(value))} where {demand.source} "
        f"{_written(right)}{more}",
        result=demand.result,
        where=(token, head, *where[2:]),
        got=float(value),
        exact=right,
        ulp=float(error[where]) if measured else None,
        bound=allowed,
        count=count,
        code=int.from_bytes(
            value.reshape(1).contiguous().view(torch.uint8).cpu().numpy().tobytes(), "little"
        ),
    )
    return float(size[where]), fault


def _written(value: float) -> str:
    """Write a value that may lie between those of float32, or beyond them all."""
    narrow = float(torch.tensor(value, dtype=torch.float64).float())
    return decimal(value) if narrow == value or math.isnan(value) else f"{value:.12g}"
