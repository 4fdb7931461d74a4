"""An honest merge in torch, in steps: every method is one thing that a kernel has to get right.

It is a subject, not an authority: float64 and a single rounding, well inside the bounds. An exhibit is a
subclass that gets one step wrong. Every operation is elementwise and correctly rounded, and segments are
added in the order of their index, so that a row's bits depend on that row alone: a library's sums,
exponentials and logarithms may differ with the shape of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from fuzz.bits import exponent_of, power_of_two
from fuzz.exp2 import exp2
from fuzz.formats import FORMATS, Format

_CHUNK = 1 << 25  # elements of o in float64 at a time
_TERMS = 12
"""Of the series of the logarithm: the first one left out is below 2^-60 of the sum."""


class Merge:
    """Merge as the contract says, tokens in chunks so that huge inputs do not need huge intermediates."""

    massless_lse = -math.inf
    """lse of a row without mass."""

    def __call__(
        self,
        segm_output: Tensor,
        segm_max: Tensor,
        segm_expsum: Tensor,
        seq_lens: Tensor,
        tile_size: int,
        out_dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        """Return output [T, H, R] in out_dtype and lse [T, H] float32; ValueError for an illegal tile."""
        if not 1 <= tile_size < 2**31:
            raise ValueError(f"tile_size is {tile_size}, 1 … 2^31 − 1 is wanted")
        tokens, heads, segments, rank = segm_output.shape
        fmt = FORMATS[str(out_dtype).removeprefix("torch.")]
        active = self.active(seq_lens, segments, tile_size)
        outputs = [torch.zeros(0, heads, rank, dtype=out_dtype, device=segm_output.device)]
        lses = [torch.zeros(0, heads, dtype=torch.float32, device=segm_output.device)]
        step = max(1, _CHUNK // max(1, heads * segments * rank))
        for first in range(0, tokens, step):
            chunk = slice(first, min(first + step, tokens))
            o = self.values(segm_output, chunk)
            m, s = self.statistics(segm_max[chunk], segm_expsum[chunk])
            y, lse = self.rows(o, m, s, active[chunk])
            outputs.append(self.stored(self.rounded(y, fmt), fmt))
            lses.append(lse.to(torch.float32))
        return self.write_output(torch.cat(outputs)), self.write_lse(torch.cat(lses), active)

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        """Return the number of segments that were written, [T] int64."""
        tiles = (seq_lens.to(torch.int64).clamp(min=1) - 1) // tile_size + 1
        tiles_per_segment = (tiles - 1) // segments + 1
        return torch.where(seq_lens > 0, (tiles - 1) // tiles_per_segment + 1, 0)

    def values(self, segm_output: Tensor, tokens: slice) -> Tensor:
        """Read o of some tokens."""
        return segm_output[tokens]

    def statistics(self, m: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Return m and s in the precision of the arithmetic."""
        return m.double(), s.double()

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """Return y [T, H, R] and lse [T, H] in float64; the contract's situations stand last to first."""
        written = torch.arange(m.shape[-1], device=m.device) < active[:, None, None]
        live = self.live(written, m, s)
        top = self.top(written, live, m)
        weight = torch.where(live, self.weight(self.gap(m, top)), 0.0)
        kept = self.kept(written, live, o)
        num, den = self.sums(weight, kept.nan_to_num(0.0, 0.0, 0.0), torch.where(live, s, 0.0))
        y, lse = self.infinite(kept, weight, self.quotient(num, den)), self.logarithm(top, den)
        bad, massless = self.broken(live, m, s), self.massless(live)
        y = torch.where(bad[..., None], torch.nan, torch.where(massless[..., None], 0.0, y))
        return y, torch.where(bad, torch.nan, torch.where(massless, self.massless_lse, lse))

    def live(self, written: Tensor, m: Tensor, s: Tensor) -> Tensor:
        """Return the mask [T, H, S] of the segments that hold mass."""
        empty = (m == -torch.inf) | ((s == 0) & ~m.isnan())
        return written & ~empty

    def broken(self, live: Tensor, m: Tensor, s: Tensor) -> Tensor:
        """Return the mask [T, H] of the rows that a live segment makes NaN."""
        return (live & (m.isnan() | s.isnan() | (m == torch.inf) | (s < 0) | (s == torch.inf))).any(-1)

    def top(self, written: Tensor, live: Tensor, m: Tensor) -> Tensor:
        """Return the maximum M [T, H] that the sums are scaled by."""
        return torch.where(live, m, -torch.inf).amax(-1)

    def gap(self, m: Tensor, top: Tensor) -> Tensor:
        """Return m − M [T, H, S]."""
        return m - top[..., None]

    def weight(self, gap: Tensor) -> Tensor:
        """Return 2^gap for the gaps m − M."""
        return exp2(gap)

    def kept(self, written: Tensor, live: Tensor, o: Tensor) -> Tensor:
        """Return o with what must not be looked at set to zero."""
        return torch.where(live[..., None], o, 0.0)

    def order(self, segments: int) -> Iterable[int]:
        """Return the segments in the order in which they are added."""
        return range(segments)

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Return num [T, H, R] and den [T, H], both relative to 2^M."""
        num, den = torch.zeros_like(o[:, :, 0], dtype=torch.float64), torch.zeros_like(weight[..., 0])
        for i in self.order(weight.shape[-1]):
            num = num + weight[..., i, None] * o[:, :, i].double()
            den = den + weight[..., i] * s[..., i]
        return num, den

    def quotient(self, num: Tensor, den: Tensor) -> Tensor:
        """Return num / den [T, H, R]."""
        return num / den[..., None]

    def infinite(self, kept: Tensor, weight: Tensor, y: Tensor) -> Tensor:
        """Return y with what infinite and NaN partials make of it; `weight` is for those who go wrong."""
        rising, falling = (kept == torch.inf).any(2), (kept == -torch.inf).any(2)
        y = torch.where(rising, torch.inf, torch.where(falling, -torch.inf, y))
        return torch.where(kept.isnan().any(2) | (rising & falling), torch.nan, y)

    def massless(self, live: Tensor) -> Tensor:
        """Return the mask [T, H] of the rows without a live segment."""
        return ~live.any(-1)

    def logarithm(self, top: Tensor, den: Tensor) -> Tensor:
        """Return ln(den · 2^top), the exponent of den folded into the integer part of top first."""
        fraction, power = torch.frexp(den)
        low = fraction < math.sqrt(0.5)
        fraction, power = torch.where(low, 2 * fraction, fraction), power.double() - low.double()
        whole = top.round()
        return ((whole + power) + (top - whole)) * math.log(2) + _log(fraction)

    def rounded(self, y: Tensor, fmt: Format) -> Tensor:
        """Round float64 to the format once, to nearest and ties to even; the result is still float64."""
        scale = fmt.precision - 1 - exponent_of(y).clamp(min=fmt.emin)
        nearest = self.nearest(y * power_of_two(scale)) * power_of_two(-scale)
        return self.overflowed(nearest, fmt)

    def nearest(self, quanta: Tensor) -> Tensor:
        """Round to an integer, ties to even."""
        return quanta.round()

    def overflowed(self, y: Tensor, fmt: Format) -> Tensor:
        """Replace what lies beyond the format's largest value; NaN stays."""
        beyond = torch.full_like(y, fmt.max_value if fmt.saturates else torch.inf).copysign(y)
        return torch.where(y.abs() > fmt.max_value, beyond, y)

    def stored(self, y: Tensor, fmt: Format) -> Tensor:
        """Return values of the format in its dtype, which is exact."""
        return y.to(fmt.torch_dtype)

    def write_output(self, output: Tensor) -> Tensor:
        """Copy the output to an allocation of its own, as a kernel would write it."""
        return torch.empty_like(output).copy_(output)

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        """Copy the lse likewise."""
        return torch.empty_like(lse).copy_(lse)


def _log(x: Tensor) -> Tensor:
    """Return ln x for x in [√½, √2], 0 or +inf, to a few 2^-53: 2·artanh((x − 1) / (x + 1)) as a series."""
    z = (x - 1) / (x + 1)
    square, series = z * z, torch.zeros_like(z)
    for k in reversed(range(_TERMS)):
        series = series * square + 1 / (2 * k + 1)
    return torch.where(x == 0, -torch.inf, torch.where(x == torch.inf, x, 2 * (z * series)))


reference_merge = Merge()
"""The honest merge, as `--kernel verify.museum.honest:reference_merge` takes it."""
