"""Hypotheses of precision and of the store."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from fuzz.bits import power_of_two
from fuzz.formats import FORMATS
from verify.diagnosis.hypothesis import hypothesis
from verify.diagnosis.merge import Prediction, Setting, rounded
from verify.oracle.target import Kind


def _through(dtype: torch.dtype, values: Tensor) -> Tensor:
    return values.float().to(dtype).to(values.dtype)


@hypothesis("statistics in bfloat16")
def bfloat16_statistics(x: Setting) -> Iterator[Prediction]:
    """Predict m and s rounded to bfloat16."""
    m, s = (_through(torch.bfloat16, value) for value in (x.case.segm_max, x.case.segm_expsum))
    yield x.predict(m=m, s=s)


@hypothesis("weights in bfloat16")
def bfloat16_weights(x: Setting) -> Iterator[Prediction]:
    """Predict weights rounded to bfloat16, in both sums or in that of the partials alone."""
    yield from _weights(x, torch.bfloat16)


@hypothesis("weights in float16")
def float16_weights(x: Setting) -> Iterator[Prediction]:
    """Predict weights rounded to float16 likewise."""
    yield from _weights(x, torch.float16)


def _weights(x: Setting, dtype: torch.dtype) -> Iterator[Prediction]:
    yield x.predict(weight=lambda w: _through(dtype, w))
    yield x.predict(numerator=lambda w, s: _through(dtype, w))


@hypothesis("partials, or their sum, in bfloat16")
def bfloat16_partials(x: Setting) -> Iterator[Prediction]:
    """Predict partials rounded to bfloat16."""
    if not x.convention.narrow:
        yield x.predict(o=_through(torch.bfloat16, x.case.segm_output))


@hypothesis("an lse in bfloat16")
def bfloat16_lse(x: Setting) -> Iterator[Prediction]:
    """Predict the lse rounded to bfloat16."""
    lse = x.exact.lse.rounded
    yield Prediction(lse=torch.where(lse.isfinite(), _through(torch.bfloat16, lse), lse), exact=True)


@hypothesis("a store that truncates")
def truncated(x: Setting) -> Iterator[Prediction]:
    """Predict rounding toward zero."""
    exact, fmt = x.exact.output, x.fmt
    away = (exact.kind == Kind.NUMBER) & (exact.residual * exact.rounded.sign() < 0)
    unit = power_of_two(exact.exponent.long() - fmt.precision + 1)
    below = torch.where(exact.rounded.isinf(), fmt.max_value, exact.rounded.abs() - unit)
    yield Prediction(output=torch.where(away, below.copysign(exact.rounded), exact.rounded), exact=True)


@hypothesis("a store that flushes subnormal results")
def flushed(x: Setting) -> Iterator[Prediction]:
    """Predict 0 for what is subnormal in the output's format."""
    y = x.exact.output.rounded
    yield Prediction(output=torch.where(y.abs() < 2.0**x.fmt.emin, 0.0, y), exact=True)


@hypothesis("a store that saturates where infinity is right")
def saturated(x: Setting) -> Iterator[Prediction]:
    """Predict the largest number for an overflow."""
    y, fmt = x.exact.output.rounded, x.fmt
    clamped = torch.where(x.exact.output.kind == Kind.NUMBER, y.clamp(-fmt.max_value, fmt.max_value), y)
    yield Prediction(output=clamped, exact=True)
    yield Prediction(output=y.clamp(-fmt.max_value, fmt.max_value), exact=True)


@hypothesis("a store that does not saturate")
def unsaturated(x: Setting) -> Iterator[Prediction]:
    """Predict NaN or infinity for what fp8 should clamp."""
    fmt = x.fmt
    if not fmt.saturates:
        return
    y = x.predict().output
    assert y is not None
    half = power_of_two(torch.tensor(fmt.emax - fmt.precision)).item()
    over = (y.abs() >= fmt.max_value + half) & ~y.isnan()
    for mark in (math.nan, math.inf):
        wrong = torch.full_like(y, mark).copysign(y) if mark == math.inf else torch.full_like(y, mark)
        yield Prediction(output=torch.where(over, wrong, x.exact.output.rounded), exact=True)


@hypothesis("a NaN that becomes a number, as by a clamp")
def nan_clamped(x: Setting) -> Iterator[Prediction]:
    """Predict the largest number of either sign, or 0, for a NaN."""
    y = x.exact.output.rounded
    for number in (x.fmt.max_value, -x.fmt.max_value, 0.0):
        yield Prediction(output=torch.where(y.isnan(), number, y), exact=True)


@hypothesis("a store that rounds twice, by way of float16")
def twice(x: Setting) -> Iterator[Prediction]:
    """Predict fp8 rounded from float16; the float64 prediction stands for the exact value."""
    y = x.predict().output
    if x.fmt.bits > 8 or y is None:
        return
    half = rounded(y, FORMATS["float16"])
    narrow = rounded(half, x.fmt).clamp(-x.fmt.max_value, x.fmt.max_value)
    yield Prediction(output=torch.where(half.isnan(), half, narrow), exact=True)


@hypothesis("partials that are subnormal read as zero")
def flushed_partials(x: Setting) -> Iterator[Prediction]:
    """Predict subnormal inputs flushed: o, or s with it."""
    o, s = x.case.segm_output, x.case.segm_expsum
    less_o, less_s = (torch.where(value.abs() < 2.0**-126, 0.0, value) for value in (o, s))
    for prediction in (x.predict(o=less_o), x.predict(s=less_s), x.predict(o=less_o, s=less_s)):
        yield replace(prediction, output_error=0.0, lse_error=0.0)
