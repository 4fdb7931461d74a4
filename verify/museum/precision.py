"""Faults of precision: one intermediate result each, held in too few bits."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class Bfloat16Statistics(Merge):
    """Rounds m and s to bfloat16 on reading them."""

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return m.bfloat16().double(), s.bfloat16().double()


class Float32Gaps(Merge):
    """Subtracts the maximum in float32, where the difference of far maxima is rounded."""

    def gap(self, m: Tensor, top: Tensor) -> Tensor:
        return super().gap(m, top).float().double()


class Bfloat16Weights(Merge):
    """Holds the weights in bfloat16, as a matrix instruction takes them."""

    def weight(self, gap: Tensor) -> Tensor:
        return super().weight(gap).bfloat16().double()


class Float16Weights(Merge):
    """Holds the weights in float16, where those below 2^-25 are zero."""

    def weight(self, gap: Tensor) -> Tensor:
        return super().weight(gap).half().double()


class Float32Weights(Merge):
    """Rounds the weights to float32, correctly, in sums that are held in float64."""

    def weight(self, gap: Tensor) -> Tensor:
        return super().weight(gap).float().double()


class Tf32Values(Merge):
    """Cuts the values to the eleven bits that a tensor core reads of float32."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return super().sums(weight, (o.view(torch.int32) & ~0x1FFF).view(torch.float32), s)


class _NarrowSums(Merge):
    """Adds the numerator and the denominator in the dtypes named."""

    num_dtype = torch.float64
    den_dtype = torch.float64

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num = torch.zeros_like(o[:, :, 0], dtype=self.num_dtype)
        den = torch.zeros_like(weight[..., 0], dtype=self.den_dtype)
        for i in self.order(weight.shape[-1]):
            num = num + (weight[..., i, None] * o[:, :, i].double()).to(self.num_dtype)
            den = den + (weight[..., i] * s[..., i]).to(self.den_dtype)
        return num.double(), den.double()


class Float32Numerator(_NarrowSums):
    """Adds the weighted values in float32."""

    num_dtype = torch.float32


class Float32Denominator(_NarrowSums):
    """Adds the masses in float32."""

    den_dtype = torch.float32


class Bfloat16Accumulator(_NarrowSums):
    """Adds the weighted values in bfloat16, the dtype that they will be returned in."""

    num_dtype = torch.bfloat16


class Float32Quotient(Merge):
    """Divides in float32, both sums rounded first; narrower formats hide the error."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        return super().quotient(num.float(), den.float()).double()


class ReciprocalInFloat16(Merge):
    """Multiplies by a reciprocal of the mass that has eleven bits, as a fast instruction gives it."""

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        fraction, power = torch.frexp(1 / den)
        return num * torch.ldexp(fraction.half().double(), power)[..., None]


class Float32LogSum(Merge):
    """Adds maximum and logarithm in float32."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return (top * math.log(2)).float() + den.log().float()


class LogarithmNotFolded(Merge):
    """Adds maximum and logarithm in float64, the exponent of the mass left in the logarithm."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return (top + den.log2()) * math.log(2)


class LseInBfloat16(Merge):
    """Rounds the lse to bfloat16 before it returns it as float32."""

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        return super().logarithm(top, den).bfloat16().double()


_ANY = ("odd_shapes", "producer")
_EXACT = ("oracle", "law constant", "law hull")

bfloat16_statistics = Exhibit(
    name="bfloat16_statistics",
    merge=Bfloat16Statistics(),
    wing=Wing.PRECISION,
    detectors=("oracle", "law constant", "law hull", "law single", "law shift"),
    families=_ANY,
    thread="vllm-xpu-kernels#204",
)
float32_gaps = Exhibit(
    name="float32_gaps",
    merge=Float32Gaps(),
    wing=Wing.PRECISION,
    detectors=("oracle", "law shift"),
    families=("bit_patterns", "cancellation", "huge_ranges"),
    dtypes=("float32",),
    thread="NATTEN#202",
)
bfloat16_weights = Exhibit(
    name="bfloat16_weights",
    merge=Bfloat16Weights(),
    wing=Wing.PRECISION,
    detectors=("oracle",),
    families=_ANY,
)
float16_weights = Exhibit(
    name="float16_weights",
    merge=Float16Weights(),
    wing=Wing.PRECISION,
    detectors=("oracle", "law scale"),
    families=_ANY,
)
float32_weights = Exhibit(
    name="float32_weights",
    merge=Float32Weights(),
    wing=Wing.PRECISION,
    detectors=("oracle",),
    families=("cancellation", *_ANY),
)
tf32_values = Exhibit(
    name="tf32_values",
    merge=Tf32Values(),
    wing=Wing.PRECISION,
    detectors=_EXACT,
    families=_ANY,
)
float32_numerator = Exhibit(
    name="float32_numerator",
    merge=Float32Numerator(),
    wing=Wing.PRECISION,
    detectors=_EXACT,
    families=("cancellation", "overflow"),
)
float32_denominator = Exhibit(
    name="float32_denominator",
    merge=Float32Denominator(),
    wing=Wing.PRECISION,
    detectors=_EXACT,
    families=_ANY,
    dtypes=("float32",),
)
bfloat16_accumulator = Exhibit(
    name="bfloat16_accumulator",
    merge=Bfloat16Accumulator(),
    wing=Wing.PRECISION,
    detectors=_EXACT,
    families=_ANY,
)
float32_quotient = Exhibit(
    name="float32_quotient",
    merge=Float32Quotient(),
    wing=Wing.PRECISION,
    detectors=(*_EXACT, "law single"),
    families=_ANY,
    dtypes=("float32",),
)
reciprocal_in_float16 = Exhibit(
    name="reciprocal_in_float16",
    merge=ReciprocalInFloat16(),
    wing=Wing.PRECISION,
    detectors=(*_EXACT, "law single"),
    families=_ANY,
)
float32_log_sum = Exhibit(
    name="float32_log_sum",
    merge=Float32LogSum(),
    wing=Wing.PRECISION,
    detectors=("oracle", "law shift"),
    families=("unit_mass", "producer"),
    thread="tt-metal#41683",
)
logarithm_not_folded = Exhibit(
    name="logarithm_not_folded",
    merge=LogarithmNotFolded(),
    wing=Wing.PRECISION,
    detectors=("oracle",),
    families=("unit_mass",),
)
lse_in_bfloat16 = Exhibit(
    name="lse_in_bfloat16",
    merge=LseInBfloat16(),
    wing=Wing.PRECISION,
    detectors=("oracle", "law shift"),
    families=_ANY,
)
