"""The speed of a kernel beside the plain float32 one, on data on which both were judged before."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from fuzz.production import RANK, Shape
from verify.bench.data import production_case
from verify.bench.timing import Timing, time_calls
from verify.bounds import Bounds
from verify.judge import Judged, judge
from verify.observed import Returned
from verify.oracle.evaluate import evaluate
from verify.oracle.values import Exact
from verify.subjects.load import Subject

_COLD_BYTES = 400e6  # of inputs in rotation: several times the largest cache
_COPIES = 256
_JUDGED_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The largest errors of a kernel on the first rows of the data, in ulp."""

    output_ulp: float
    lse_ulp: float
    failed: int
    """Values outside the bounds."""


@dataclass(frozen=True, kw_only=True)
class KernelSpeed:
    """One shape, two kernels."""

    shape: Shape
    accuracy: Accuracy
    baseline_accuracy: Accuracy
    warm: Timing | None
    """One set of inputs again and again; None for a kernel that was not accurate."""
    cold: Timing | None
    """Inputs in rotation, none of them in a cache; None likewise."""
    baseline_warm: Timing
    baseline_cold: Timing


def measure_shape(subject: Subject, baseline: Subject, shape: Shape, bounds: Bounds) -> KernelSpeed:
    """Judge both kernels on the first rows of a case, then time both on as many cases as caches ask for."""
    copies = max(1, min(_COPIES, int(_COLD_BYTES // (shape.tokens * shape.heads * shape.active * 4 * RANK))))
    cases = [
        production_case(
            shape.tokens,
            shape.heads,
            shape.segments,
            RANK,
            dtype="bfloat16",
            device="cuda",
            seed=seed,
            active=shape.active,
        )
        for seed in range(copies)
    ]
    first = _first_rows(cases[0])
    inputs_of_first = (first.segm_output, first.segm_max, first.segm_expsum, first.active)
    exact = evaluate(*inputs_of_first, FORMATS[first.out_dtype], FORMATS["float32"])
    judged = [_judged(kernel, cases[0], first, exact, bounds) for kernel in (subject, baseline)]
    inputs = [_arguments(case) for case in cases]
    sound = judged[0].failed == 0
    return KernelSpeed(
        shape=shape,
        accuracy=judged[0],
        baseline_accuracy=judged[1],
        warm=time_calls(subject.merge, inputs[:1]) if sound else None,
        cold=time_calls(subject.merge, inputs) if sound else None,
        baseline_warm=time_calls(baseline.merge, inputs[:1]),
        baseline_cold=time_calls(baseline.merge, inputs),
    )


def _arguments(case: MergeCase) -> tuple[object, ...]:
    inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
    return (*inputs, case.tile_size, FORMATS[case.out_dtype].torch_dtype)


def _first_rows(case: MergeCase) -> MergeCase:
    """Take the first tokens to the CPU, where the oracle works."""
    tokens = max(1, min(case.T, _JUDGED_ROWS // case.H))
    return MergeCase(
        segm_output=case.segm_output[:tokens].cpu(),
        segm_max=case.segm_max[:tokens].cpu(),
        segm_expsum=case.segm_expsum[:tokens].cpu(),
        seq_lens=case.seq_lens[:tokens].cpu(),
        tile_size=case.tile_size,
        out_dtype=case.out_dtype,
        domain=case.domain,
    )


def _judged(kernel: Subject, case: MergeCase, first: MergeCase, exact: Exact, bounds: Bounds) -> Accuracy:
    output, lse = (result[: first.T].cpu() for result in kernel.merge(*_arguments(case)))
    written = [torch.zeros(x.shape, dtype=torch.bool) for x in (output, lse)]
    returned = Returned(output=output, lse=lse, unwritten_output=written[0], unwritten_lse=written[1])
    return _accuracy(judge(first, returned, exact, bounds))


def _accuracy(judged: Judged) -> Accuracy:
    output, lse = (float(values.error.abs().max()) for values in (judged.output, judged.lse))
    failed = int(judged.output.failed.sum() + judged.lse.failed.sum())
    return Accuracy(output_ulp=output, lse_ulp=lse, failed=failed)
