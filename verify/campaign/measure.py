"""From judged values to the stratum they belong to."""

from __future__ import annotations

from dataclasses import replace

import torch

from reports.strata import EDGES, Stratum, StratumKey
from verify.judge import Judged, JudgedValues


def strata_of(judged: Judged, *, family: str, domain: str, dtype: str, case: str) -> tuple[Stratum, ...]:
    """Summarise one call: a stratum for the output and one for the lse."""
    return tuple(
        _stratum(values, StratumKey(family, domain, dtype, values.result), case)
        for values in (judged.output, judged.lse)
        if values.failed.numel()
    )


def _stratum(values: JudgedValues, key: StratumKey, case: str) -> Stratum:
    signed = values.error[values.number]
    plain = Stratum(key=key, cases=1, outputs=values.failed.numel(), failed=int(values.failed.sum()))
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
        sum_ulp=float(signed.sum()),
        counts=_histogram(size),
    )


def _histogram(size: torch.Tensor) -> tuple[int, ...]:
    edges = torch.tensor(EDGES[1:-1], dtype=torch.float64, device=size.device)
    bins = torch.bucketize(size, edges, right=True)
    return tuple(torch.bincount(bins, minlength=len(EDGES) - 1).tolist())
