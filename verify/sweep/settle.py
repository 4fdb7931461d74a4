"""From float64 values with bounds to the exact values that the judge takes, and what is left undecided.

A value is decided when nothing within its bound rounds otherwise or lies in another binade; the oracle
decides the others, with mpmath where it must.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.oracle.evaluate import evaluate
from verify.oracle.rounding import Rounded, round_values, undecided
from verify.oracle.target import Kind
from verify.oracle.values import ExactValues
from verify.sweep.enclosures import Enclosed


def rounded_of(found: Enclosed, fmt: Format) -> tuple[ExactValues, Tensor]:
    """Round values [N], and return where the bound leaves doubt."""
    value = found.value.contiguous()
    rounded = round_values(value, fmt)
    return _numbers(rounded), undecided(value, rounded, found.bound, fmt)


def quotient(o: Tensor, s: Tensor, fmt: Format) -> ExactValues:
    """Return o/s rounded, for float32 o, of any sort, and finite s > 0: every tie is decided.

    A multiple c of half an ulp has at most 25 bits and s has 24, so o and c·s are equal or differ by 2^-49
    of themselves or more. The float64 quotient, off by 2^-53, lies on the same side of c as the exact one,
    and is c where that is.
    """
    finite = o.isfinite()
    found = _numbers(round_values(torch.where(finite, o, 0.0).double() / s.double(), fmt))
    if bool(finite.all()):
        return found
    limit = torch.copysign(torch.full_like(found.rounded, fmt.max_value if fmt.saturates else torch.inf), o)
    infinite_kind = int(Kind.NUMBER if fmt.saturates else Kind.INFINITE)
    kind = torch.where(o.isnan(), int(Kind.NAN), infinite_kind).to(torch.int8)
    return ExactValues(
        kind=torch.where(finite, found.kind, kind),
        rounded=torch.where(finite, found.rounded, torch.where(o.isnan(), torch.nan, limit)),
        residual=torch.where(finite, found.residual, 0.0),
        exponent=torch.where(
            finite,
            found.exponent,
            torch.where(o.isinf() & fmt.saturates, fmt.emax, fmt.emin).to(torch.int32),
        ),
    )


def from_oracle(case: MergeCase, result: str) -> ExactValues:
    """Return the exact values [T] of one result of a case of one head and one column, by the whole oracle."""
    exact = evaluate(
        case.segm_output.cpu(),
        case.segm_max.cpu(),
        case.segm_expsum.cpu(),
        case.active.cpu(),
        FORMATS[case.out_dtype],
        FORMATS["float32"],
        processes=1,
    )
    values: ExactValues = getattr(exact, result)
    return _map(values, lambda x: x.flatten().to(case.segm_output.device))


def replaced(values: ExactValues, places: Tensor, better: ExactValues) -> ExactValues:
    """Return the values with those at `places` taken from elsewhere."""
    return ExactValues(
        **{
            part.name: getattr(values, part.name).index_copy(
                0, places, getattr(better, part.name).to(getattr(values, part.name).dtype)
            )
            for part in fields(ExactValues)
        }
    )


def picked(values: ExactValues, places: Tensor) -> ExactValues:
    """Return the values at some places."""
    return _map(values, lambda x: x[places])


def _map(values: ExactValues, change: Callable[[Tensor], Tensor]) -> ExactValues:
    return ExactValues(**{part.name: change(getattr(values, part.name)) for part in fields(ExactValues)})


def _numbers(found: Rounded) -> ExactValues:
    return ExactValues(
        kind=torch.zeros_like(found.exponent, dtype=torch.int8),
        rounded=found.rounded,
        residual=found.residual,
        exponent=found.exponent,
    )
