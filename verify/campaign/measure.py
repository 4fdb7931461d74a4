"""From judged values to the stratum they belong to."""

from __future__ import annotations

from dataclasses import replace

import torch

from reports.strata import EDGES, UNIT_LOG2, Stratum, StratumKey
from verify.judge import Judged, JudgedValues


def strata_of(judged: Judged, *, family: str, domain: str, dtype: str, case: str) -> tuple[Stratum, ...]:
    """Summarise one call: a stratum for the output and one for the lse."""
    return tuple(
        _stratum(values, StratumKey(family, domain, dtype, values.result), case)
        for values in (judged.output, judged.lse)
        if bool(_judged(values).any())
    )


def _judged(values: JudgedValues) -> torch.Tensor:
    """Return the mask of the values that were judged: the others are outside what the bounds speak of."""
    return values.inside | values.failed


def _stratum(values: JudgedValues, key: StratumKey, case: str) -> Stratum:
    signed = values.error[values.number]
    plain = Stratum(key=key, cases=1, outputs=int(_judged(values).sum()), failed=int(values.failed.sum()))
    if not signed.numel():
        return plain
    size = signed.abs()
    margin = size / values.bound[values.number]
    worst = int(margin.argmax())
    place = torch.nonzero(values.number)[worst].tolist()
    return replace(
        plain,
        numbers=signed.numel(),
        misrounded=int((values.steps[values.number] != 0).sum()),
        max_ulp=float(size.max()),
        judged_ulp=float(values.judged[values.number].max()),
        margin=float(margin[worst]),
        bound=float(values.bound[values.number].max()),
        witness=f"{case} at {place}",
        sum_units=_sum_units(signed),
        counts=_histogram(size),
    )


def _sum_units(signed: torch.Tensor) -> int:
    """Return the sum of `Stratum.in_units` of the errors, exact however many and however large they are."""
    # Scaling by a power of two, truncating and taking the difference are exact in float64; 2^31 parts below
    # 2^32 fit into an int64. Errors below 1/2 ulp, nearly all, need one round.
    rest = torch.round(signed * 2.0**-UNIT_LOG2)
    total = 0
    for shift in range(0, 1024, 32):
        if not bool(rest.any()):
            return total
        high = torch.trunc(rest * 2.0**-32)
        total += int((rest - high * 2.0**32).to(torch.int64).sum()) << shift
        rest = high
    raise ValueError("an infinity or a NaN among the errors cannot be summed")


def _histogram(size: torch.Tensor) -> tuple[int, ...]:
    edges = torch.tensor(EDGES[1:-1], dtype=torch.float64, device=size.device)
    bins = torch.bucketize(size, edges, right=True)
    return tuple(torch.bincount(bins, minlength=len(EDGES) - 1).tolist())
