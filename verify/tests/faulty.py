"""Merges with exactly one fault each, all others of their steps being those of the honest one.

Every fault was met in a real kernel; the acceptance cases name the ones that each of them must reject.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.tests.honest import Merge

reference_merge = Merge()


class NoGuard(Merge):
    """Never asks whether a row has any live segment, so that a row without mass is 0/0."""

    def massless(self, live):
        return torch.zeros_like(live[..., 0])


class ZeroTimesNan(Merge):
    """Multiplies the values of an empty segment by a weight of zero instead of leaving them out."""

    def kept(self, written, live, o):
        return torch.where(written[..., None], o, 0.0)


class LengthIgnored(Merge):
    """Takes every segment as written, whatever the length."""

    def active(self, seq_lens, segments, tile_size):
        return torch.full_like(seq_lens, segments, dtype=torch.int64)


class LseInBaseTwo(Merge):
    """Returns M + log2 D: the lse in base two."""

    def logarithm(self, top, den):
        return top + den.log2()


class OnlyLogConverted(Merge):
    """Returns M + ln D: the maximum stays in base two."""

    def logarithm(self, top, den):
        return top + den.log()


class OnlyMaxConverted(Merge):
    """Returns M·ln 2 + log2 D: the logarithm stays in base two."""

    def logarithm(self, top, den):
        return top * math.log(2) + den.log2()


class NaturalWeights(Merge):
    """Weighs by e^(m − M), as if the maxima were natural."""

    def weight(self, gap):
        return gap.exp()


class Bfloat16Statistics(Merge):
    """Rounds m and s to bfloat16 on reading them."""

    def statistics(self, m, s):
        return m.bfloat16().double(), s.bfloat16().double()


class Float8CastWithoutClamp(Merge):
    """Casts to fp8 by a conversion that turns every overflow into NaN."""

    def overflowed(self, y, fmt):
        if not fmt.saturates:
            return super().overflowed(y, fmt)
        return torch.where(y.abs() > fmt.max_value, torch.nan, y)


class Float8ClampEatsNan(Merge):
    """Clamps to fp8's range by a minimum and a maximum that prefer the number to the NaN."""

    def overflowed(self, y, fmt):
        if not fmt.saturates:
            return super().overflowed(y, fmt)
        limit = torch.full_like(y, fmt.max_value)
        return y.fmax(-limit).fmin(limit)


class StaleTile(Merge):
    """Divides the keys by a tile of 32, which the producer no longer uses."""

    def active(self, seq_lens, segments, tile_size):
        return super().active(seq_lens, segments, 32)


class StaleLength(Merge):
    """Reads every length as it was when a sequence had one key at most."""

    def active(self, seq_lens, segments, tile_size):
        return super().active(seq_lens.clamp(max=1), segments, tile_size)


class LastColumnSkipped(Merge):
    """Leaves the last column of the output unwritten."""

    def write_output(self, output):
        written = torch.empty_like(output)
        written[..., :-1] = output[..., :-1]
        return written


class RowStepOfUnpadded(Merge):
    """Allocates rows padded to R + 8 and writes them R apart."""

    def write_output(self, output):
        tokens, heads, rank = output.shape
        padded = torch.empty(tokens, heads, rank + 8, dtype=output.dtype, device=output.device)
        padded.view(-1)[: output.numel()] = output.reshape(-1)
        return padded[..., :rank]


class Offsets32Bit(Merge):
    """Computes the offset of a token in o in 32 bits; beyond 2^31 elements it reads another token."""

    def values(self, segm_output, tokens):
        elements = segm_output[:1].numel()
        offsets = _wrapped32(torch.arange(tokens.start, tokens.stop) * elements)
        # Taken around the end of the tensor, where a kernel would read memory that is not its own.
        return segm_output[(offsets % segm_output.numel() // elements).to(segm_output.device)]


class LseSkippedForOneSegment(Merge):
    """Returns early from a row with one active segment, its lse unwritten."""

    def write_lse(self, lse, active):
        written = torch.empty_like(lse)
        several = active != 1
        written[several] = lse[several]
        return written


class FlushedWeights(Merge):
    """Flushes the weights that float32 could not hold as normal numbers: harmless with the right maximum."""

    def weight(self, gap):
        return torch.where(gap < -126, 0.0, gap.exp2())


class MasslessMaximum(FlushedWeights):
    """Takes the maximum over every written segment, massless ones included, and flushes far below it."""

    def top(self, written, live, m):
        return torch.where(written, m, -torch.inf).amax(-1)


class Zeroed(Merge):
    """Returns an output of zeros."""

    def rounded(self, y, fmt):
        return torch.zeros_like(y)


class Shuffled(Merge):
    """Returns every row's columns one place further."""

    def rounded(self, y, fmt):
        return super().rounded(y.roll(1, -1), fmt)


class SignFlipped(Merge):
    """Returns the negated output."""

    def rounded(self, y, fmt):
        return super().rounded(-y, fmt)


class Float32LogSum(Merge):
    """Adds maximum and logarithm in float32."""

    def logarithm(self, top, den):
        return (top * math.log(2)).float() + den.log().float()


class UnscaledFloat32Sums(Merge):
    """Lets numerator and denominator overflow as unscaled sums in float32 do."""

    def sums(self, weight, o, s):
        totals = super().sums(weight, o, s)
        return tuple(torch.where(t.abs() >= 2.0**128, t * torch.inf, t) for t in totals)


class Ceiling32Bit(Merge):
    """Rounds divisions up by (a + b − 1) // b in 32 bits, which wraps for long sequences."""

    def active(self, seq_lens, segments, tile_size):
        def ceil_div(b):
            return _wrapped32(seq_lens.to(torch.int64) + b - 1) // b

        tiles_per_segment = ceil_div(segments * tile_size).clamp(min=1)
        return ceil_div(tiles_per_segment * tile_size).clamp(0, segments)


class PowerOfTwoSegments(Merge):
    """Adds up no more segments than the largest power of two up to S."""

    def active(self, seq_lens, segments, tile_size):
        return super().active(seq_lens, segments, tile_size).clamp(max=_power_of_two_up_to(segments))


class PowerOfTwoColumns(Merge):
    """Writes no more columns than the largest power of two up to R."""

    def write_output(self, output):
        written, columns = torch.empty_like(output), _power_of_two_up_to(output.shape[-1])
        written[..., :columns] = output[..., :columns]
        return written


class PowerOfTwoHeads(Merge):
    """Writes no more heads than the largest power of two up to H."""

    def write_output(self, output):
        written, heads = torch.empty_like(output), _power_of_two_up_to(output.shape[1])
        written[:, :heads] = output[:, :heads]
        return written


def _wrapped32(x: Tensor) -> Tensor:
    return (x + 2**31) % 2**32 - 2**31


def _power_of_two_up_to(n: int) -> int:
    return 1 << (n.bit_length() - 1)


FAULTY: dict[str, Merge] = {
    "no_guard": NoGuard(),
    "zero_times_nan": ZeroTimesNan(),
    "length_ignored": LengthIgnored(),
    "lse_in_base_two": LseInBaseTwo(),
    "only_log_converted": OnlyLogConverted(),
    "only_max_converted": OnlyMaxConverted(),
    "natural_weights": NaturalWeights(),
    "bfloat16_statistics": Bfloat16Statistics(),
    "float8_cast_without_clamp": Float8CastWithoutClamp(),
    "float8_clamp_eats_nan": Float8ClampEatsNan(),
    "stale_tile": StaleTile(),
    "stale_length": StaleLength(),
    "last_column_skipped": LastColumnSkipped(),
    "row_step_of_unpadded": RowStepOfUnpadded(),
    "offsets_32_bit": Offsets32Bit(),
    "lse_skipped_for_one_segment": LseSkippedForOneSegment(),
    "massless_maximum": MasslessMaximum(),
    "zeroed": Zeroed(),
    "shuffled": Shuffled(),
    "sign_flipped": SignFlipped(),
    "float32_log_sum": Float32LogSum(),
    "unscaled_float32_sums": UnscaledFloat32Sums(),
    "ceiling_32_bit": Ceiling32Bit(),
    "power_of_two_segments": PowerOfTwoSegments(),
    "power_of_two_columns": PowerOfTwoColumns(),
    "power_of_two_heads": PowerOfTwoHeads(),
}
"""Every faulty merge, by name."""
