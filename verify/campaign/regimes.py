"""From judged values to regimes: how many terms a sum had, and how much of it cancelled."""

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.case import MergeCase
from reports.regimes import CONDITIONING_EDGES, Regime, RegimeKey, segments_bin
from verify.bounds.rows import finite_partials, rows_of
from verify.judge import Judged, JudgedValues
from verify.oracle.target import Base
from verify.oracle.values import Exact


def regimes_of(
    case: MergeCase, judged: Judged, exact: Exact, base: Base, lse_base: Base
) -> tuple[Regime, ...]:
    """Summarise one call by number of segments and conditioning.

    The condition number of an output is Σ |o_i|·w_i / |Σ o_i·w_i| over the live segments, with w_i =
    base^(m_i − M); that of an lse is (|M| + |log den|) / |lse|, M in the unit of the lse.
    """
    if not case.outputs:
        return ()
    rows = rows_of(case, base)
    size = torch.einsum("ths,thsr->thr", rows.weight, finite_partials(case).abs()) / rows.den[..., None]
    unit = torch.tensor(2.0 if base is Base.TWO else torch.e, dtype=torch.float64).log()
    logarithm = rows.den.log()
    if lse_base is Base.TWO:
        unit, logarithm = unit / _LN2, logarithm / _LN2
    terms = rows.top.abs() * unit.to(rows.top.device) + logarithm.abs()
    return (
        *_regimes(judged.output, size, exact.output.rounded, case.out_dtype, case.S),
        *_regimes(judged.lse, terms, exact.lse.rounded, "float32", case.S),
    )


_LN2 = torch.tensor(2.0, dtype=torch.float64).log()
_EDGES = torch.tensor(CONDITIONING_EDGES[1:], dtype=torch.float64)


def _regimes(
    values: JudgedValues, size: Tensor, exact: Tensor, dtype: str, segments: int
) -> tuple[Regime, ...]:
    at = values.number
    size, total = size[at], exact[at].abs()
    # 0/0: nothing was there to cancel.
    bits = torch.where(size == 0.0, 0.0, torch.log2(size / total)).nan_to_num(nan=0.0, posinf=torch.inf)
    bins = torch.bucketize(bits, _EDGES.to(bits.device), right=True)
    error, bound = values.error[at].abs(), values.bound[at]
    wrong = (values.steps[at] != 0).double()
    numbers, misrounded = (_sums(bins, x).tolist() for x in (torch.ones_like(error), wrong))
    largest = [_maxima(bins, x).tolist() for x in (error, values.judged[at], error / bound, bound)]
    return tuple(
        Regime(
            key=RegimeKey(dtype, values.result, segments_bin(segments), edge),
            numbers=int(numbers[n]),
            misrounded=int(misrounded[n]),
            max_ulp=largest[0][n],
            judged_ulp=largest[1][n],
            margin=largest[2][n],
            bound=largest[3][n],
        )
        for n, edge in enumerate(CONDITIONING_EDGES)
        if numbers[n]
    )


def _sums(bins: Tensor, values: Tensor) -> Tensor:
    # Counts of ones: exact in float64 in whatever order they are added.
    return torch.zeros(len(CONDITIONING_EDGES), dtype=torch.float64, device=bins.device).index_add(
        0, bins, values
    )


def _maxima(bins: Tensor, values: Tensor) -> Tensor:
    zero = torch.zeros(len(CONDITIONING_EDGES), dtype=torch.float64, device=bins.device)
    return zero.scatter_reduce(0, bins, values, "amax")
