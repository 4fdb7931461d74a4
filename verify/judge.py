"""Judge what a kernel returned against the exact values and the bounds, value by value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from fuzz.bits import exponent_of, power_of_two
from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.bounds import Bounds, load_bounds, second_terms
from verify.observed import Fault, FaultKind, Returned, decimal, place_of_largest
from verify.oracle.target import Kind
from verify.oracle.values import Exact, ExactValues
from verify.ulp import error_ulp, misplaced, per_ulp, steps


@dataclass(frozen=True, kw_only=True)
class JudgedValues:
    """The verdict on one result tensor; all tensors have its shape."""

    result: str
    """`output` or `lse`."""
    inside: Tensor
    """bool: the bounds speak of the value."""
    number: Tensor
    """bool: inside, a number was wanted and a number or an infinity was got, so that there is an error."""
    error: Tensor
    """float64 signed error in ulp; NaN where no arithmetic can tell it."""
    steps: Tensor
    """int64 distance from the correctly rounded value, in representable numbers."""
    bound: Tensor
    """float64 bound on |error|, in ulp."""
    judged: Tensor
    """float64 max(0, |error| − second term), in the ulp of the first term: failed is what exceeds that."""
    failed: Tensor
    """bool: beyond the bound, or not the NaN, infinity or number that it should be; or never written."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict on one call."""

    output: JudgedValues
    lse: JudgedValues
    faults: tuple[Fault, ...]
    """At most one per kind and result, each with its worst place."""
    out_of_domain: dict[str, int]
    """Rows with a value that the bounds do not speak of, by reason."""


def judge(case: MergeCase, returned: Returned, exact: Exact, bounds: Bounds) -> Judged:
    """Compare output and lse with the exact values; every value is within its bound or failed.

    Values of which the bounds do not speak fail only if they were never written.
    """
    terms = second_terms(case, bounds)
    single = FORMATS["float32"]
    output = judge_values(
        "output",
        returned.output,
        returned.unwritten_output,
        exact.output,
        terms.output,
        FORMATS[case.out_dtype],
        bounds,
    )
    lse = judge_values("lse", returned.lse, returned.unwritten_lse, exact.lse, terms.lse, single, bounds)
    faults = (
        *_faults(output, returned.output, exact.output, returned.unwritten_output),
        *_faults(lse, returned.lse, exact.lse, returned.unwritten_lse),
    )
    return Judged(output=output, lse=lse, faults=faults, out_of_domain=terms.out_of_domain)


def keeps_fp32(case: MergeCase, returned: Returned, exact: Exact, like: Bounds | None = None) -> bool:
    """Tell whether every value is within the bounds of a merge that computes in float32, where they speak.

    `like` are bounds that know the bases of the statistics and of the lse.
    """
    bounds = _fp32() if like is None else _fp32().of(like.base, like.lse_base)
    return not judge(case, returned, exact, bounds).faults


@cache
def _fp32() -> Bounds:
    return load_bounds("fp32")


def judge_values(
    result: str,
    got: Tensor,
    unwritten: Tensor,
    exact: ExactValues,
    term: Tensor,
    fmt: Format,
    bounds: Bounds,
) -> JudgedValues:
    """Compare the values of one result, all of one shape; `term` is the second term of the bounds.

    Where that is infinite the bounds do not speak.
    """
    error = error_ulp(got, exact, fmt)
    inside = term.isfinite()
    number = inside & (exact.kind == Kind.NUMBER) & ~error.isnan()
    # Where the truth is no number the term means nothing: equality alone decides there.
    term_ulp = torch.where(number, term * per_ulp(got, exact, fmt), 0.0)
    unit = _rise(got, exact, fmt) if bounds.at_result else torch.ones_like(error)
    bound = bounds.ulp * unit + term_ulp
    return JudgedValues(
        result=result,
        inside=inside,
        number=number,
        error=error,
        steps=steps(got, exact, fmt),
        bound=bound,
        judged=torch.where(number, ((error.abs() - term_ulp) / unit).clamp(min=0.0), 0.0),
        # Not `error > bound`: a NaN on either side must fail. What was never written is no answer even
        # where the marker happens to be right.
        failed=(inside & ~(error.abs() <= bound)) | unwritten,
    )


def _rise(got: Tensor, exact: ExactValues, fmt: Format) -> Tensor:
    """Return the ulp of a result in that of the exact value, a power of two; 1 where it is no larger."""
    exponent = exponent_of(got.double().nan_to_num(nan=0.0)).clamp(fmt.emin, fmt.emax)
    return power_of_two((exponent - exact.exponent).clamp(min=0))


def _faults(judged: JudgedValues, got: Tensor, exact: ExactValues, unwritten: Tensor) -> list[Fault]:
    if not bool(judged.failed.any()):
        return []
    places = misplaced(got, exact)
    wrong = FaultKind.WRONG_LSE if judged.result == "lse" else FaultKind.WRONG_VALUE
    # In this order: a marker is a NaN too, but says more.
    named = (
        (FaultKind.UNWRITTEN_OUTPUT, unwritten),
        (FaultKind.SPURIOUS_NAN, places.spurious_nan),
        (FaultKind.LOST_NAN, places.lost_nan),
        (FaultKind.SPURIOUS_INF, places.spurious_inf),
        (wrong, torch.ones_like(judged.failed)),
    )
    faults = []
    left = judged.failed
    for kind, mask in named:
        hit, left = left & mask, left & ~mask
        if bool(hit.any()):
            faults.append(_worst(kind, judged, hit, got, exact))
    return faults


def _worst(kind: FaultKind, judged: JudgedValues, hit: Tensor, values: Tensor, exact: ExactValues) -> Fault:
    excess = torch.nan_to_num(judged.error.abs() / judged.bound, nan=torch.inf)
    where = place_of_largest(torch.where(hit, excess, -1.0))
    value = values[where]
    got, truth, count = float(value), float(exact.rounded[where]), int(hit.sum())
    measured = bool(judged.number[where])
    unwritten = kind is FaultKind.UNWRITTEN_OUTPUT
    said = "was never written" if unwritten else f"is {decimal(got)}"
    more = f", and {count - 1} more like it" if count > 1 else ""
    return Fault(
        kind=kind,
        detector="marker" if unwritten else "oracle",
        result=judged.result,
        message=f"{judged.result} {said} where {decimal(truth)} is right{more}",
        where=where,
        got=got,
        code=int.from_bytes(
            value.reshape(1).contiguous().view(torch.uint8).cpu().numpy().tobytes(), "little"
        ),
        exact=truth,
        ulp=float(judged.error[where]) if measured else None,
        steps=int(judged.steps[where]) if measured else None,
        bound=float(judged.bound[where]) if measured else None,
        count=count,
    )
