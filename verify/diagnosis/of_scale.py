"""Hypotheses of base and scale: of the statistics, of the lse, of the division by the mass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch

from verify.diagnosis.hypothesis import hypothesis
from verify.diagnosis.merge import Prediction, Setting
from verify.oracle.target import Base

_LN2 = math.log(2.0)


@hypothesis("base-2 statistics read as natural")
def two_as_natural(x: Setting) -> Iterator[Prediction]:
    """Predict what e^m in the place of 2^m gives, in the weights and in the lse."""
    if x.convention.base is Base.TWO:
        yield from _read_as(x, Base.E)


@hypothesis("natural statistics read as base-2")
def natural_as_two(x: Setting) -> Iterator[Prediction]:
    """Predict the reverse."""
    if x.convention.base is Base.E:
        yield from _read_as(x, Base.TWO)


def _read_as(x: Setting, base: Base) -> Iterator[Prediction]:
    """Predict statistics of another base, and where the lse has theirs, one of that base as well."""
    yield x.predict(base=base)
    if x.convention.lse_base is x.convention.base:
        nats = _LN2 if base is Base.TWO else 1.0
        yield x.predict(base=base, log=lambda top, ln: top + ln / nats)


@hypothesis("weights of e^m where 2^m is declared, and an lse that is converted all the same")
def natural_weights(x: Setting) -> Iterator[Prediction]:
    """Predict natural weights alone; without an lse nobody can tell that from the statistics."""
    if x.convention.base is Base.TWO and x.convention.lse_base is not None:
        yield x.predict(base=Base.E, log=lambda top, ln: x.logarithm(top * _LN2 + ln))


@hypothesis("an lse in base two where it is natural")
def lse_in_two(x: Setting) -> Iterator[Prediction]:
    """Predict log2 of the mass."""
    if x.convention.lse_base is Base.E:
        yield _of_lse(x, 1 / _LN2)


@hypothesis("a natural lse where it is in base two")
def lse_in_nats(x: Setting) -> Iterator[Prediction]:
    """Predict ln of the mass."""
    if x.convention.lse_base is Base.TWO:
        yield _of_lse(x, _LN2)


def _of_lse(x: Setting, factor: float) -> Prediction:
    right = x.predict()
    assert right.lse is not None
    return replace(right, output=None, lse=right.lse * factor)


@hypothesis("an lse whose logarithm is converted to base e and whose maximum is not")
def only_logarithm(x: Setting) -> Iterator[Prediction]:
    """Predict M + ln D."""
    if (x.convention.base, x.convention.lse_base) == (Base.TWO, Base.E):
        yield replace(x.predict(log=lambda top, ln: top + ln), output=None)


@hypothesis("an lse whose maximum is converted to base e and whose logarithm is not")
def only_maximum(x: Setting) -> Iterator[Prediction]:
    """Predict M·ln 2 + log2 D."""
    if (x.convention.base, x.convention.lse_base) == (Base.TWO, Base.E):
        yield replace(x.predict(log=lambda top, ln: top * _LN2 + ln / _LN2), output=None)


@hypothesis("an lse without the maximum")
def no_maximum(x: Setting) -> Iterator[Prediction]:
    """Predict the logarithm of the sum alone."""
    yield replace(x.predict(log=lambda top, ln: x.logarithm(ln)), output=None)


@hypothesis("an lse without the logarithm of the sum")
def no_logarithm(x: Setting) -> Iterator[Prediction]:
    """Predict the maximum alone."""
    nats = _LN2 if x.convention.base is Base.TWO else 1.0
    yield replace(x.predict(log=lambda top, ln: x.logarithm(top * nats)), output=None)


@hypothesis("partials taken as not yet weighed by their mass, and divided by the weights alone")
def mass_ignored(x: Setting) -> Iterator[Prediction]:
    """Predict Σ o·w / Σ w, as of normalised partials, and either lse."""
    if not x.convention.normalised:
        wrong = x.predict(denominator=lambda w, s: torch.where(s > 0, w, 0.0))
        yield wrong
        yield replace(wrong, lse=x.predict().lse)


@hypothesis("partials normalised by their mass already, and weighed by it again")
def mass_twice(x: Setting) -> Iterator[Prediction]:
    """Predict Σ s·o·w / Σ s·w."""
    if not x.convention.normalised:
        yield x.predict(numerator=lambda w, s: w * s)


@hypothesis("sums that are not divided by the mass")
def not_divided(x: Setting) -> Iterator[Prediction]:
    """Predict Σ o·w relative to the largest weight."""
    right = x.predict()
    undivided = x.predict(denominator=lambda w, s: torch.ones_like(w) / w.shape[-1])
    yield replace(undivided, lse=right.lse, lse_error=right.lse_error)
