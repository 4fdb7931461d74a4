"""The oracle's answer as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from verify.oracle.target import Value


@dataclass(frozen=True, kw_only=True)
class ExactValues:
    """The exact values of one result tensor relative to a target format; all fields have its shape."""

    kind: torch.Tensor
    """int8: a target.Kind: 0 number, 1 NaN, 2 infinite in exact arithmetic."""
    rounded: torch.Tensor
    """float64: the correctly rounded value; ±inf on IEEE overflow, ±max_value on saturation, NaN for NaN."""
    residual: torch.Tensor
    """float64: (exact − rounded) / ulp(exact) to within 2^-12.

    A number that overflows an IEEE format is first clamped to ±2^(emax+1), and its ±inf stands for that;
    for a saturating format exact is clamped to ±max_value. 0 for NaN and infinite.
    """
    exponent: torch.Tensor
    """int32: max(e, emin) with 2^e ≤ |exact| < 2^(e+1), so that ulp(exact) = 2^(exponent − precision + 1)."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The exact results of one merge."""

    output: ExactValues
    """[T, H, R]."""
    lse: ExactValues
    """[T, H]."""
    tiers: dict[str, int]
    """How many values each tier decided, by its name."""
    bits: int
    """The most working bits that any value needed; 0 if none needed arithmetic."""


def from_records(values: Sequence[Value], shape: tuple[int, ...]) -> ExactValues:
    """Return the records as tensors of `shape`."""
    return ExactValues(
        kind=torch.tensor([int(v.kind) for v in values], dtype=torch.int8).reshape(shape),
        rounded=torch.tensor([v.rounded for v in values], dtype=torch.float64).reshape(shape),
        residual=torch.tensor([v.residual for v in values], dtype=torch.float64).reshape(shape),
        exponent=torch.tensor([v.exponent for v in values], dtype=torch.int32).reshape(shape),
    )


def blank(shape: tuple[int, ...], device: torch.device) -> ExactValues:
    """Return numbers of `shape` that are still to be written."""
    return ExactValues(
        kind=torch.zeros(shape, dtype=torch.int8, device=device),
        rounded=torch.empty(shape, dtype=torch.float64, device=device),
        residual=torch.empty(shape, dtype=torch.float64, device=device),
        exponent=torch.empty(shape, dtype=torch.int32, device=device),
    )


def check_inputs(
    segm_output: torch.Tensor, segm_max: torch.Tensor, segm_expsum: torch.Tensor, active: torch.Tensor
) -> None:
    """Raise ValueError unless the shapes, dtypes and devices are those of a merge.

    Raises RuntimeError where torch flushes subnormal numbers to zero: then inputs are not what they are.
    """
    if torch.tensor(2.0**-149).double().item() == 0:
        raise RuntimeError(
            "subnormal numbers are flushed to zero here: torch.set_flush_denormal(False) is needed"
        )
    if segm_output.dim() != 4:
        raise ValueError(f"segm_output has shape {tuple(segm_output.shape)}, [T, H, S, R] is wanted")
    tokens, heads, segments, _ = segm_output.shape
    for name, tensor in (("segm_max", segm_max), ("segm_expsum", segm_expsum)):
        if tensor.shape != (tokens, heads, segments):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, {(tokens, heads, segments)} is wanted")
        if tensor.device != segm_output.device:
            raise ValueError(f"{name} is on {tensor.device}, segm_output on {segm_output.device}")
    for name, tensor in (("segm_output", segm_output), ("segm_max", segm_max), ("segm_expsum", segm_expsum)):
        if tensor.dtype != torch.float32:
            raise ValueError(f"{name} has dtype {tensor.dtype}, torch.float32 is wanted")
    if active.shape != (tokens,) or active.dtype.is_floating_point or active.dtype == torch.bool:
        raise ValueError(
            f"active has shape {tuple(active.shape)} and dtype {active.dtype}, "
            f"integers of shape {(tokens,)} are wanted"
        )
    if tokens and not 0 <= int(active.min()) <= int(active.max()) <= segments:
        raise ValueError(f"active holds a number outside of 0..{segments}")
