"""Faults of the last step: rounding to the output format, and what is beyond it."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from fuzz.formats import FORMATS, Format
from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge

FP8 = tuple(name for name, fmt in FORMATS.items() if fmt.bits == 8)


class TruncatingStore(Merge):
    """Cuts the bits that the format has no room for, as a cast in Triton's interpreter does."""

    def nearest(self, quanta: Tensor) -> Tensor:
        return quanta.trunc()


class RoundedTwice(Merge):
    """Rounds to float16 on the way to fp8, as hardware without a conversion of its own does."""

    def rounded(self, y: Tensor, fmt: Format) -> Tensor:
        if fmt.saturates:
            half = super().rounded(y, FORMATS["float16"])
            y = torch.where(half.isinf() | (y.abs() < 2.0**-14), y, half)
        return super().rounded(y, fmt)


class SubnormalsFlushed(Merge):
    """Returns zero where the result is subnormal in the output format."""

    def rounded(self, y: Tensor, fmt: Format) -> Tensor:
        rounded = super().rounded(y, fmt)
        return torch.where(rounded.abs() < 2.0**fmt.emin, 0.0, rounded)


class Float8CastWithoutClamp(Merge):
    """Casts to fp8 by a conversion that turns every overflow into NaN."""

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        if not fmt.saturates:
            return super().overflowed(y, fmt)
        return torch.where(y.abs() > fmt.max_value, torch.nan, y)


class Float8ClampEatsNan(Merge):
    """Clamps to fp8's range by a minimum and a maximum that prefer the number to the NaN."""

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        if not fmt.saturates:
            return super().overflowed(y, fmt)
        limit = torch.full_like(y, fmt.max_value)
        return y.fmax(-limit).fmin(limit)


class E5m2OverflowsToInfinity(Merge):
    """Stores an infinity for what overflows float8_e5m2, which has one but must saturate."""

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        saturated = super().overflowed(y, fmt)
        beyond = (y.abs() > fmt.max_value) & (fmt.name == "float8_e5m2")
        return torch.where(beyond, torch.inf * y.sign(), saturated)


class FnuzClampedAsFn(Merge):
    """Clamps float8_e4m3fnuz at 448, the largest value of another format, and so to NaN."""

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        if fmt.name != "float8_e4m3fnuz":
            return super().overflowed(y, fmt)
        return torch.where(y.abs() > fmt.max_value, torch.nan, y)


class FnuzStoredAsFn(Merge):
    """Writes the code of float8_e4m3fn where float8_e4m3fnuz is wanted, which reads as half the value."""

    def stored(self, y: Tensor, fmt: Format) -> Tensor:
        if fmt.name != "float8_e4m3fnuz":
            return super().stored(y, fmt)
        return super().stored(y, FORMATS["float8_e4m3fn"]).view(fmt.torch_dtype)


class NegativeZeroInFnuz(Merge):
    """Writes the code of −0 into a format without one, where it is NaN."""

    def stored(self, y: Tensor, fmt: Format) -> Tensor:
        stored = super().stored(y, fmt)
        if fmt.has_negative_zero:
            return stored
        code = torch.where((y == 0) & y.signbit(), 0x80, stored.view(torch.uint8))
        return code.to(torch.uint8).view(fmt.torch_dtype)


class Float16Saturates(Merge):
    """Clamps float16 to its largest number, where IEEE overflow to infinity is right."""

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        return y.clamp(-65504, 65504) if fmt.name == "float16" else super().overflowed(y, fmt)


class Bfloat16ThroughFloat16(Merge):
    """Rounds to bfloat16 through float16, whose range is far smaller."""

    def rounded(self, y: Tensor, fmt: Format) -> Tensor:
        half = super().rounded(y, FORMATS["float16"]) if fmt.name == "bfloat16" else y
        return super().rounded(half, fmt)


class StochasticRounding(Merge):
    """Rounds up with the probability of what is cut, by a generator that moves on at every call."""

    def __init__(self) -> None:
        self._generator = torch.Generator()

    def nearest(self, quanta: Tensor) -> Tensor:
        chance = torch.rand(quanta.shape, generator=self._generator, dtype=torch.float64)
        return (quanta + chance.to(quanta.device)).floor()


_ANY = ("odd_shapes", "producer")
_OVERFLOW = ("overflow", "bit_patterns")

truncating_store = Exhibit(
    name="truncating_store",
    merge=TruncatingStore(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=_ANY,
    thread="triton#8322",
)
rounded_twice = Exhibit(
    name="rounded_twice",
    merge=RoundedTwice(),
    wing=Wing.ROUNDING,
    detectors=("oracle",),
    families=("constant", "odd_shapes", "producer", "huge_ranges"),
    dtypes=FP8,
)
subnormals_flushed = Exhibit(
    name="subnormals_flushed",
    merge=SubnormalsFlushed(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single", "law constant"),
    families=("subnormals",),
)
float8_cast_without_clamp = Exhibit(
    name="float8_cast_without_clamp",
    merge=Float8CastWithoutClamp(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=_OVERFLOW,
    dtypes=FP8,
    thread="ROCm/vllm#569",
)
float8_clamp_eats_nan = Exhibit(
    name="float8_clamp_eats_nan",
    merge=Float8ClampEatsNan(),
    wing=Wing.ROUNDING,
    detectors=("oracle",),
    families=("specials", "bit_patterns"),
    dtypes=FP8,
    thread="sglang#28455",
)
e5m2_overflows_to_infinity = Exhibit(
    name="e5m2_overflows_to_infinity",
    merge=E5m2OverflowsToInfinity(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=_OVERFLOW,
    dtypes=("float8_e5m2",),
)
fnuz_clamped_as_fn = Exhibit(
    name="fnuz_clamped_as_fn",
    merge=FnuzClampedAsFn(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=_OVERFLOW,
    dtypes=("float8_e4m3fnuz",),
)
fnuz_stored_as_fn = Exhibit(
    name="fnuz_stored_as_fn",
    merge=FnuzStoredAsFn(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law constant", "law hull", "law single"),
    families=_ANY,
    dtypes=("float8_e4m3fnuz",),
)
negative_zero_in_fnuz = Exhibit(
    name="negative_zero_in_fnuz",
    merge=NegativeZeroInFnuz(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=("subnormals", "bit_patterns"),
    dtypes=("float8_e4m3fnuz", "float8_e5m2fnuz"),
)
float16_saturates = Exhibit(
    name="float16_saturates",
    merge=Float16Saturates(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single"),
    families=_OVERFLOW,
    dtypes=("float16",),
)
bfloat16_through_float16 = Exhibit(
    name="bfloat16_through_float16",
    merge=Bfloat16ThroughFloat16(),
    wing=Wing.ROUNDING,
    detectors=("oracle", "law hull", "law single", "law scale", "law constant"),
    families=_OVERFLOW,
    dtypes=("bfloat16",),
)
stochastic_rounding = Exhibit(
    name="stochastic_rounding",
    merge=StochasticRounding(),
    wing=Wing.ROUNDING,
    detectors=("oracle", *(f"law {name}" for name in ("repeat", "batch", "neighbours", "position", "tail"))),
    families=_ANY,
)
