"""The suite's own metric and comparison on questions with known answers, asked before anything is judged.

A broken ruler accepts or rejects everything alike, and no kernel's result can tell. The answers here are
written down in closed form from the numbers of a format; nothing of the metric enters them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS, Format
from verify import judge, ulp
from verify.bounds import load_bounds
from verify.observed import FaultKind, Returned
from verify.oracle.target import Kind
from verify.oracle.values import Exact, ExactValues

_NAN, _INF = math.nan, math.inf


class SelfTestError(Exception):
    """The metric or the judge gives a wrong answer to a known question; the message is one line."""


class Question(NamedTuple):
    """A result, what is exact, and the right answer."""

    got: float
    """What a kernel returned, a value of the format."""
    rounded: float
    """The correctly rounded value."""
    residual: float
    """(exact − rounded) / ulp(exact)."""
    exponent: int
    """Of the exact value, emin at least."""
    error: float
    """The right (got − exact) / ulp(exact); NaN where no arithmetic can tell it."""
    steps: int
    """The right distance from the rounded value."""
    kind: Kind = Kind.NUMBER
    """What the exact value is."""


class Comparison(NamedTuple):
    """What came, what is right, and as what the judge must reject it."""

    got: tuple[float, ...]
    """Results of one row."""
    exact: tuple[float, ...]
    """Exact values, which every format holds."""
    fault: FaultKind | None
    """None where the row is right."""


def check_metric() -> None:
    """Ask every question in every format; SelfTestError for the first wrong answer."""
    for fmt in FORMATS.values():
        _check_distances(fmt)
    _check_judge()


def questions(fmt: Format) -> Iterator[Question]:
    """Yield results beside zeros, subnormals, powers of two, the largest value, infinities and NaN."""
    p, emin, emax, top = fmt.precision, fmt.emin, fmt.emax, fmt.max_value
    tiny, normal, eps = 2.0 ** (emin - p + 1), 2.0**emin, 2.0 ** (1 - p)
    last = 2.0 ** (emax - p + 1)
    of_one = (1 - emin) << (p - 1)
    for sign in (1.0, -1.0):
        for got, exact, exponent, error in (
            (0.0, 0.0, emin, 0.0),
            (-0.0, 0.0, emin, 0.0),
            (tiny, 0.0, emin, 1.0),
            (0.0, tiny, emin, -1.0),
            (3 * tiny, 2 * tiny, emin, 1.0),
            (normal, normal - tiny, emin, 1.0),
            (normal - tiny, normal, emin, -1.0),
            (2 * normal - tiny, 2 * normal, emin + 1, -1.0),  # fallen into the binade of the smaller ulp
            (1.0, 1.0, 0, 0.0),
            (1.0 + eps, 1.0, 0, 1.0),
            (1.0 - eps / 2, 1.0, 0, -1.0),
            (1.0, 1.0 - eps / 2, -1, 1.0),
            (top, top, emax, 0.0),
            (top - last, top, emax, -1.0),
        ):
            distance = int(abs(error))
            yield Question(sign * got, sign * exact, 0.0, exponent, sign * error, distance)
        for residual in (0.25, 0.5):  # 0.5 is a tie
            yield Question(sign, sign, sign * residual, 0, -sign * residual, 0)
            yield Question(sign * (1.0 + eps), sign, sign * residual, 0, sign * (1 - residual), 1)
        yield Question(-sign, sign, 0.0, 0, -sign * 2.0**p, 2 * of_one)
        yield Question(_NAN, sign, 0.0, 0, _NAN, ulp.NO_DISTANCE)
        yield Question(sign, _NAN, 0.0, emin, _NAN, ulp.NO_DISTANCE, Kind.NAN)
        if fmt.has_inf:
            beyond = (2.0 ** (emax + 1) - top) / last
            yield Question(sign * _INF, sign * top, 0.0, emax, sign * beyond, 1)
            yield Question(sign * _INF, _NAN, 0.0, emin, _NAN, ulp.NO_DISTANCE, Kind.NAN)
        if not fmt.saturates:
            infinity = sign * _INF
            yield Question(infinity, infinity, 0.0, emax + 1, 0.0, 0)  # an overflow, clamped to 2^(emax + 1)
            yield Question(sign * top, infinity, 0.0, emax + 1, -sign, 1)
            yield Question(infinity, infinity, 0.0, emin, 0.0, 0, Kind.INFINITE)
            for wrong in (-infinity, sign * top, _NAN):
                yield Question(wrong, infinity, 0.0, emin, _NAN, ulp.NO_DISTANCE, Kind.INFINITE)
    yield Question(_NAN, _NAN, 0.0, emin, 0.0, 0, Kind.NAN)


COMPARISONS = (
    Comparison((_NAN, 2.0, 3.0), (1.0, 2.0, 3.0), FaultKind.SPURIOUS_NAN),
    Comparison((1.0, 2.0, 3.0), (_NAN, 2.0, 3.0), FaultKind.LOST_NAN),
    Comparison((_NAN, 2.0, 3.0), (_NAN, 2.0, 3.0), None),
    Comparison((_INF, 2.0, 3.0), (448.0, 2.0, 3.0), FaultKind.SPURIOUS_INF),
    Comparison((0.0, -0.0, 3.0), (-0.0, 0.0, 3.0), None),
    Comparison((0.0, 0.0, 0.0), (1.0, 2.0, 3.0), FaultKind.WRONG_VALUE),
    Comparison((2.0, 3.0, 1.0), (1.0, 2.0, 3.0), FaultKind.WRONG_VALUE),
    Comparison((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0), FaultKind.WRONG_VALUE),
    Comparison((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), None),
)
"""What a comparison that only asks whether a difference is too large gets wrong, and its plain neighbours."""


def _check_distances(fmt: Format) -> None:
    asked = list(questions(fmt))
    got = torch.tensor([q.got for q in asked], dtype=torch.float64)
    stored = got.to(fmt.torch_dtype)
    exact = ExactValues(
        kind=torch.tensor([q.kind for q in asked], dtype=torch.int8),
        rounded=torch.tensor([q.rounded for q in asked], dtype=torch.float64),
        residual=torch.tensor([q.residual for q in asked], dtype=torch.float64),
        exponent=torch.tensor([q.exponent for q in asked], dtype=torch.int32),
    )
    errors = ulp.error_ulp(stored, exact, fmt).tolist()
    distances = ulp.steps(stored, exact, fmt).tolist()
    for q, error, distance in zip(asked, errors, distances, strict=True):
        # Every right answer is a double, so there is nothing to tolerate.
        if not (error == q.error or (math.isnan(error) and math.isnan(q.error))):
            raise SelfTestError(_said(q, fmt, "an error", error, q.error, " ulp"))
        if distance != q.steps:
            raise SelfTestError(_said(q, fmt, "a distance", distance, q.steps, " steps"))


def _said(q: Question, fmt: Format, what: str, came: float, right: float, unit: str) -> str:
    exact = f"{q.rounded!r}{f' and {q.residual:+g} ulp' if q.residual else ''}"
    return f"{q.got!r} for {exact} in {fmt.name} has {what} of {came!r}{unit}, {right!r} is right"


def _check_judge() -> None:
    """Hand values through one segment of mass 1, a row for each comparison, the last of them unwritten."""
    rows = (*COMPARISONS, Comparison((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), FaultKind.UNWRITTEN_OUTPUT))
    fmt = FORMATS["float32"]
    wanted = torch.tensor([row.exact for row in rows], dtype=torch.float64)[:, None]
    lse = torch.zeros(len(rows), 1, dtype=torch.float64)
    case = MergeCase(
        segm_output=wanted.float()[:, :, None],
        segm_max=torch.zeros(len(rows), 1, 1),
        segm_expsum=torch.ones(len(rows), 1, 1),
        seq_lens=torch.ones(len(rows), dtype=torch.int32),
        tile_size=1,
        out_dtype=fmt.name,
        domain=Domain.STRESS,
    )
    unwritten = torch.zeros(wanted.shape, dtype=torch.bool)
    unwritten[-1] = True
    returned = Returned(
        output=torch.tensor([row.got for row in rows])[:, None],
        lse=lse.float(),
        unwritten_output=unwritten,
        unwritten_lse=torch.zeros(lse.shape, dtype=torch.bool),
    )
    exact = Exact(output=_exactly(wanted, fmt), lse=_exactly(lse, fmt), tiers={}, bits=0)
    judged = judge.judge(case, returned, exact, load_bounds())
    rejected = judged.output.failed.flatten(1).any(1).tolist()
    for row, failed in zip(rows, rejected, strict=True):
        if failed != (row.fault is not None):
            verdict = "rejected" if failed else "accepted"
            raise SelfTestError(f"a row of {list(row.got)} where {list(row.exact)} is right is {verdict}")
    kinds = {fault.kind for fault in judged.faults}
    if kinds != {row.fault for row in rows if row.fault is not None} or bool(judged.lse.failed.any()):
        named = ", ".join(sorted(kinds)) or "nothing"
        raise SelfTestError(
            f"faults of every kind in the outputs and none in the lse are reported as {named}"
        )


def _exactly(values: torch.Tensor, fmt: Format) -> ExactValues:
    """Return the record of values that the format holds."""
    exponents = [
        [fmt.emin if x == 0 or math.isnan(x) else math.frexp(x)[1] - 1 for x in row]
        for row in values.flatten(1).tolist()
    ]
    return ExactValues(
        kind=torch.where(values.isnan(), int(Kind.NAN), int(Kind.NUMBER)).to(torch.int8),
        rounded=values,
        residual=torch.zeros_like(values),
        exponent=torch.tensor(exponents, dtype=torch.int32).reshape(values.shape),
    )
