"""How far two results that are equal in exact arithmetic may lie apart: what their bounds allow each."""

from __future__ import annotations

from torch import Tensor

from fuzz.bits import exponent_of, power_of_two
from fuzz.case import MergeCase
from fuzz.formats import FORMATS, Format
from verify.bounds import Bounds, second_terms

LSE_FORMAT = FORMATS["float32"]
"""Format of every lse."""


def numeric(values: Tensor, fmt: Format) -> Tensor:
    """Return values in float64, what is beyond the format's largest as the contract counts it; NaN stays."""
    limit = fmt.max_value if fmt.saturates else 2.0 ** (fmt.emax + 1)
    return values.double().clamp(-limit, limit)


def ulp_at(values: Tensor, fmt: Format) -> Tensor:
    """Return the unit in the last place at each value, float64; that of the largest binade beyond it."""
    return power_of_two(exponent_of(values).clamp(fmt.emin, fmt.emax) - fmt.precision + 1)


class Tolerance:
    """What the bounds of a case allow its results."""

    def __init__(self, case: MergeCase, bounds: Bounds) -> None:
        self._ulp = bounds.ulp
        self._fmt = FORMATS[case.out_dtype]
        self._terms = second_terms(case, bounds)
        self.outputs = self._terms.output.isfinite()
        """[T, H, R] bool: the outputs that the bounds speak of."""
        self.lses = self._terms.lse.isfinite()
        """[T, H] bool: the lses that they speak of."""

    def output(self, got: Tensor) -> Tensor:
        """Return the most by which each output [T, H, R] may miss its exact value, float64."""
        return self._allowed(numeric(got, self._fmt), self._terms.output, self._fmt)

    def lse(self, got: Tensor) -> Tensor:
        """Return the same for each lse [T, H], in nats."""
        return self._allowed(numeric(got, LSE_FORMAT), self._terms.lse, LSE_FORMAT)

    def _allowed(self, got: Tensor, term: Tensor, fmt: Format) -> Tensor:
        # The bound counts in ulp of the exact value, or of the binade below when `got` fell out of its own.
        # No more than that is the ulp at |got| + term: either `got` is in the exact value's binade or above,
        # or |got| + term lacks at most the first term of the exact value, and cannot be two binades below.
        return self._ulp * ulp_at(got.abs() + term, fmt) + term
