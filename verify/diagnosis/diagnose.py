"""Ask which hypotheses explain what a kernel returned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.diagnosis import of_partition, of_precision, of_rows, of_scale
from verify.diagnosis.hypothesis import Hypothesis
from verify.diagnosis.merge import Prediction, Setting
from verify.laws.tolerance import numeric, ulp_at
from verify.observed import Returned
from verify.oracle.values import Exact, ExactValues
from verify.subjects.convention import Convention

ENOUGH: Final = 20.0
"""Bits that the failing values must hold for a hypothesis: one in a million would do so by chance."""

_MOST = 3
"""Hypotheses that are named together where several explain the same."""

_ELEMENTS = 1 << 21
"""Of segm_output, beyond which nothing is diagnosed."""


def _hypotheses(*modules: ModuleType) -> tuple[Hypothesis, ...]:
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Hypothesis)
    )


HYPOTHESES: Final = _hypotheses(of_scale, of_partition, of_precision, of_rows)
"""All hypotheses, each once, in the order in which they are named."""


@dataclass(frozen=True, kw_only=True)
class _Result:
    """One result: what came, what is right, and what failed."""

    got: Tensor
    """In its own dtype."""
    exact: ExactValues
    """What is right."""
    failed: Tensor
    """bool."""
    fmt: Format
    """Its format."""


def diagnose(
    case: MergeCase,
    returned: Returned,
    exact: Exact,
    failed: Mapping[str, Tensor],
    convention: Convention,
) -> dict[str, str]:
    """Return, for each result with failed values, what they are consistent with; "" where nothing fits.

    The case is one that the convention can say; `failed` are the masks of the failed values of `output` and
    `lse`. A hypothesis fits if all values of the results that it speaks of are within float32's accuracy of
    what it predicts, the passing ones too, and the failed ones are so far from the right values that they
    cannot be so by chance. Where more than three fit, none is named. Nothing is said of a call that left a
    value unwritten, nor of a huge one.
    """
    results = {
        "output": _Result(
            got=returned.output, exact=exact.output, failed=failed["output"], fmt=FORMATS[case.out_dtype]
        ),
        "lse": _Result(got=returned.lse, exact=exact.lse, failed=failed["lse"], fmt=FORMATS["float32"]),
    }
    if convention.lse_base is None:
        del results["lse"]
    wrong = [name for name, result in results.items() if bool(result.failed.any())]
    unwritten = returned.unwritten_output.any() | returned.unwritten_lse.any()
    if not wrong or bool(unwritten) or case.segm_output.numel() > _ELEMENTS:
        return dict.fromkeys(wrong, "")
    setting = Setting(case=case, convention=convention, exact=exact)
    fitting = {name: [h.says for h in HYPOTHESES if _fits(h, setting, results, name)] for name in wrong}
    return {name: _sentence(found) for name, found in fitting.items()}


def _sentence(found: list[str]) -> str:
    return "consistent with " + ", or with ".join(found) if 0 < len(found) <= _MOST else ""


def _fits(tried: Hypothesis, setting: Setting, results: Mapping[str, _Result], name: str) -> bool:
    return any(_explains(prediction, results, name) for prediction in tried.predict(setting))


def _explains(prediction: Prediction, results: Mapping[str, _Result], name: str) -> bool:
    if getattr(prediction, name) is None:
        return False
    evidence = 0.0
    for result_name, result in results.items():
        want: Tensor | None = getattr(prediction, result_name)
        if want is None:
            continue
        error = getattr(prediction, f"{result_name}_error")
        allowed, met = _met(result, want, error, exact=prediction.exact)
        if not bool(met.all()):
            return False
        if result_name == name:
            evidence = _evidence(result, allowed, exact=prediction.exact)
    return evidence >= ENOUGH


def _met(result: _Result, want: Tensor, error: Tensor | float, *, exact: bool) -> tuple[Tensor, Tensor]:
    """Return how far each value may be from what is predicted, and where that is met."""
    got, fmt = result.got.double(), result.fmt
    if exact:
        return torch.zeros_like(got), (got == want) | (got.isnan() & want.isnan())
    value, aim = numeric(result.got, fmt), numeric(want, fmt)
    allowed = error + ulp_at(aim.abs().nan_to_num(0.0), fmt)
    # What fp8 saturates is never infinite; elsewhere an infinity stands for a number beyond the format.
    near = (value - aim).abs() <= allowed
    if fmt.saturates:
        near &= ~got.isinf()
    else:
        near = torch.where(want.isinf(), got == want, near)
    return allowed, near | (got.isnan() & want.isnan())


def _evidence(result: _Result, allowed: Tensor, *, exact: bool) -> float:
    """Return the bits that the failed values hold for a prediction that they meet."""
    got, right = numeric(result.got, result.fmt), numeric(result.exact.rounded, result.fmt)
    if exact:
        # Which values are wrong was foretold as well, and in which direction each is.
        rarity = result.failed.numel() / max(1, int(result.failed.sum()))
        bits = torch.full_like(got, 1.0 + math.log2(rarity))
    else:
        bits = ((got - right).abs() / allowed).log2().clamp(0.0, 24.0)
        bits = torch.where(
            (got == 0) & result.exact.rounded.isfinite(), 0.0, bits
        )  # zeros come of many faults
    bits = torch.where((got - right).isnan() | result.got.double().isinf(), ENOUGH, bits)
    return float(bits[result.failed].sum())
