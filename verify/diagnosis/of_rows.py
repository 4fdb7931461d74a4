"""Hypotheses of whole rows: where they stand, and what those without mass hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from verify.diagnosis.hypothesis import hypothesis
from verify.diagnosis.merge import Prediction, Setting


@hypothesis("an lse written by head first and read by token first")
def lse_turned(x: Setting) -> Iterator[Prediction]:
    """Predict the memory of [H, T] read as [T, H]."""
    lse = x.exact.lse.rounded
    yield Prediction(lse=lse.T.reshape(lse.shape), exact=False, lse_error=_near(lse.T.reshape(lse.shape)))


@hypothesis("an output written by head first and read by token first")
def output_turned(x: Setting) -> Iterator[Prediction]:
    """Predict the memory of [H, T, R] read as [T, H, R]."""
    y = x.exact.output.rounded
    y = y.transpose(0, 1).reshape(y.shape)
    yield Prediction(output=y, output_error=_near(y))


@hypothesis("the values of another head")
def another_head(x: Setting) -> Iterator[Prediction]:
    """Predict heads one further, one back, in pairs exchanged, or in reverse; output, lse or both."""
    y, lse = x.exact.output.rounded, x.exact.lse.rounded
    for order in _orders(x.case.H, y.device):
        moved, moved_lse = y[:, order], lse[:, order]
        yield Prediction(output=moved, output_error=_near(moved), lse=moved_lse, lse_error=_near(moved_lse))
        yield Prediction(output=moved, output_error=_near(moved), lse=lse, lse_error=_near(lse))
        yield Prediction(output=y, output_error=_near(y), lse=moved_lse, lse_error=_near(moved_lse))


@hypothesis("columns that stand one place off")
def another_column(x: Setting) -> Iterator[Prediction]:
    """Predict columns one further or one back."""
    if x.case.R > 1:
        for step in (1, -1):
            y = x.exact.output.rounded.roll(step, -1)
            yield Prediction(output=y, output_error=_near(y))


def _orders(heads: int, device: torch.device) -> Iterator[Tensor]:
    if heads > 1:
        head = torch.arange(heads, device=device)
        yield head.roll(1)
        yield head.roll(-1)
        yield head.flip(0)
        yield (head ^ 1).clamp(max=heads - 1)


def _near(values: Tensor) -> Tensor:
    """Return an error of float32 arithmetic relative to values that stand elsewhere."""
    return 2.0**-20 * values.abs().nan_to_num(0.0, 0.0, 0.0)


@hypothesis("rows without mass that have NaN in the output")
def massless_nan(x: Setting) -> Iterator[Prediction]:
    """Predict NaN in the output."""
    y = x.exact.output.rounded
    yield Prediction(output=torch.where(x.massless[..., None], torch.nan, y), output_error=_near(y))


def _lse_marker(x: Setting, mark: float) -> Iterator[Prediction]:
    lse = x.exact.lse.rounded
    yield Prediction(lse=torch.where(x.massless, mark, lse), lse_error=_near(lse))


@hypothesis("rows without mass that have +inf as their lse")
def massless_infinite(x: Setting) -> Iterator[Prediction]:
    """Predict +inf."""
    yield from _lse_marker(x, math.inf)


@hypothesis("rows without mass that have NaN as their lse")
def massless_lse_nan(x: Setting) -> Iterator[Prediction]:
    """Predict NaN."""
    yield from _lse_marker(x, math.nan)


@hypothesis("rows without mass that have 0 as their lse")
def massless_zero(x: Setting) -> Iterator[Prediction]:
    """Predict 0."""
    yield from _lse_marker(x, 0.0)
