"""The certified tiers over whole tensors: each value is decided by the first tier that can prove it."""

import math
from typing import Any

import torch

from verify.oracle.logarithms import logarithm
from verify.oracle.pending import Pending
from verify.oracle.rounding import Rounded, round_doubled
from verify.oracle.target import Base, Kind, TargetFormat
from verify.oracle.tiers import Picked, comparing_tier, doubled_tier, float64_tier, gathered
from verify.oracle.values import ExactValues, blank
from verify.oracle.weights import EPS_DEN, Weights, weigh

BLOCK = {"cpu": 1 << 14, "cuda": 1 << 22}
"""Segments whose weights are made together."""

CHUNK = {"cpu": 1 << 17, "cuda": 1 << 26}
"""Partial elements of a chunk: on a CPU what stays in its cache, on a GPU what fills it."""

PICKED = {"cpu": 1 << 18, "cuda": 1 << 25}
"""Partial elements of single outputs that are taken together."""

PENDING = 1 << 22
"""Partial elements that may wait for the exact tier before they are settled."""


class Cascade:
    """The results of one merge so far, and what its vectorised tiers hand on; a row is one (token, head)."""

    def __init__(
        self,
        rows: int,
        rank: int,
        device: torch.device,
        output_format: TargetFormat,
        lse_format: TargetFormat,
        processes: int,
        base: Base = Base.TWO,
        lse_base: Base = Base.E,
    ) -> None:
        self.base, self.lse_base = base, lse_base
        self.processes = processes
        self.output_format, self.lse_format = output_format, lse_format
        self.output = blank((rows, rank), device)
        self.lse = blank((rows,), device)
        self.tiers = {"special": 0, "float64": 0, "double-double": 0, "comparison": 0, "exact": 0}
        self.bits = 0
        self.pending = Pending(base, lse_base)

    def block(
        self, o: torch.Tensor, m: torch.Tensor, s: torch.Tensor, active: torch.Tensor, base: int
    ) -> None:
        """Judge rows base… of o [n, S, R] and m, s [n, S]: decide what the vectorised tiers can."""
        weights = weigh(m, s, active, self.base)
        self._lse(weights, m, s, base)
        size = CHUNK[o.device.type] // o.shape[1]  # outputs of a chunk
        tall, wide = max(1, size // max(1, o.shape[2])), max(1, size)
        picked: list[Picked] = []
        for first in range(0, o.shape[0], tall):
            for left in range(0, o.shape[2], wide):
                chunk = o[first : first + tall, :, left : left + wide]
                picked += self._outputs(chunk, weights, first, left, base)
                if sum(part.o.numel() for part in picked) > PICKED[o.device.type]:
                    self._singles(gathered(picked), weights, m, s, base)
                    picked = []
        if picked:
            self._singles(gathered(picked), weights, m, s, base)
        rows = base + weights.broken.nonzero()[:, 0]
        for values in (self.output, self.lse):
            values.kind[rows], values.rounded[rows], values.residual[rows] = int(Kind.NAN), math.nan, 0.0
        self.output.exponent[rows], self.lse.exponent[rows] = self.output_format.emin, self.lse_format.emin

    def _lse(self, weights: Weights, m: torch.Tensor, s: torch.Tensor, base: int) -> None:
        """Decide the lses of a block by double-double logarithms."""
        hi, lo = weights.den
        scale = (hi.view(torch.int64) & (0x7FF << 52)).view(torch.float64)
        scale = torch.where(hi >= scale * 1.4142, scale * 2, scale)
        n = ((scale.view(torch.int64) >> 52) - 1023).double()
        c = hi / scale, lo / scale
        value, bound, plain = logarithm(weights.maximum, n, c, self.base, self.lse_base)
        known = plain & (weights.live.sum(-1) == 1)  # the mass, and so the lse, is exactly what was computed
        slack = EPS_DEN * (1.01 if self.lse_base is Base.E else 1.46)  # of den in its logarithm
        bound = torch.where(known, 0.0, bound + slack)
        found, doubtful, _ = round_doubled(value, bound, self.lse_format)
        doubtful &= ~known
        rows = slice(base, base + hi.shape[0])
        _store(self.lse, rows, found)
        massless, special = weights.massless, weights.massless | weights.broken
        where = base + massless.nonzero()[:, 0]
        self.lse.kind[where], self.lse.rounded[where] = int(Kind.INFINITE), -math.inf
        self.lse.residual[where], self.lse.exponent[where] = 0.0, self.lse_format.emin
        left = (doubtful & ~special).nonzero()[:, 0]
        self.pending.ask(base + left, m[left], s[left], weights.live[left])
        count = int(special.sum())
        self.tiers["special"] += count
        self.tiers["double-double"] += hi.shape[0] - count - left.shape[0]

    def _outputs(
        self, partials: torch.Tensor, weights: Weights, first: int, left: int, base: int
    ) -> list[Picked]:
        """Decide a chunk, rows first… of the block's and columns left…; return the outputs that remain."""
        fmt, count = self.output_format, partials.shape[0]
        local = slice(first, first + count)
        place = slice(base + first, base + first + count), slice(left, left + partials.shape[2])
        o = partials.double()
        found, doubtful, magnitude = float64_tier(o, weights, local, fmt)
        special = ~(weights.live[local].any(-1))
        if bool(magnitude.sum().isfinite()):
            _store(self.output, place, found)
            skipped = special[:, None].expand_as(doubtful)
        else:
            o, nan, plus, minus = finite_part(partials, weights.live[local])
            found, doubtful, _ = float64_tier(o, weights, local, fmt)
            _store(self.output, place, found)
            self._infinities(place, nan | (plus & minus), plus, minus)
            skipped = special[:, None] | nan | plus | minus
        doubtful &= ~skipped
        row, column = doubtful.nonzero(as_tuple=True)
        special_count = int(skipped.sum())
        self.tiers["special"] += special_count
        self.tiers["float64"] += magnitude.numel() - special_count - row.shape[0]
        self.bits = max(self.bits, 53)
        step = max(1, PICKED[o.device.type] // o.shape[1])
        parts = [(row[i : i + step], column[i : i + step]) for i in range(0, row.shape[0], step)]
        return [Picked(r + first, c + left, o[r, :, c]) for r, c in parts]

    def _singles(self, picked: Picked, weights: Weights, m: torch.Tensor, s: torch.Tensor, base: int) -> None:
        """Decide single outputs of a block, or hand them on."""
        fmt = self.output_format
        found, doubtful, close, y = doubled_tier(picked, weights, fmt)
        _store(self.output, (picked.row + base, picked.column), found)
        self.tiers["double-double"] += y.shape[0] - int(doubtful.sum())
        self.bits = max(self.bits, 106)
        if bool(close.any()):
            near = picked.only(close)
            found, unsure = comparing_tier(near, y[close], weights, fmt)
            _store(self.output, (near.row + base, near.column), found)
            doubtful[close] = unsure
            self.tiers["comparison"] += unsure.shape[0] - int(unsure.sum())
        if bool(doubtful.any()):
            numbers = torch.arange(base, base + m.shape[0], device=m.device)
            self.pending.ask(numbers, m, s, weights.live, picked.only(doubtful))
            if self.pending.size > PENDING:
                self.settle()

    def _infinities(
        self, place: tuple[slice, slice], nan: torch.Tensor, plus: torch.Tensor, minus: torch.Tensor
    ) -> None:
        """Overwrite the outputs of columns that hold NaN or infinities in a live segment."""
        fmt, values = self.output_format, self.output
        infinite = (plus | minus) & ~nan
        limit = torch.where(plus, 1.0, -1.0) * (fmt.max_value if fmt.saturates else math.inf)
        kind = torch.where(infinite, int(Kind.NUMBER if fmt.saturates else Kind.INFINITE), values.kind[place])
        values.kind[place] = torch.where(nan, int(Kind.NAN), kind).to(torch.int8)
        values.rounded[place] = torch.where(
            nan, math.nan, torch.where(infinite, limit, values.rounded[place])
        )
        values.residual[place] = torch.where(nan | infinite, 0.0, values.residual[place])
        exponent = torch.where(infinite & fmt.saturates, fmt.emax, values.exponent[place])
        lowest = nan | (infinite & (not fmt.saturates))
        values.exponent[place] = torch.where(lowest, fmt.emin, exponent).to(torch.int32)

    def settle(self) -> None:
        """Decide by exact integers what is pending."""
        settled = self.pending.settle(self.output_format, self.lse_format, self.processes)
        for values, where, answers in (
            (self.output, settled.output_at, settled.output),
            (self.lse, settled.lse_at, settled.lse),
        ):
            device = values.rounded.device
            at = tuple(torch.tensor(index, dtype=torch.int64, device=device) for index in where)
            for name, dtype in (
                ("rounded", torch.float64),
                ("residual", torch.float64),
                ("exponent", torch.int32),
            ):
                column = [getattr(answer, name) for answer in answers]
                getattr(values, name)[at] = torch.tensor(column, dtype=dtype, device=device)
            self.tiers["exact"] += len(answers)
        self.bits = max(self.bits, settled.bits)


def _store(values: ExactValues, where: Any, found: Rounded) -> None:
    values.rounded[where] = found.rounded
    values.residual[where] = found.residual
    values.exponent[where] = found.exponent


def finite_part(
    partials: torch.Tensor, live: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return o as float64 with 0 for what is dead or not finite; [n, R] where live NaN, +inf, −inf are."""
    live = live[:, :, None]
    tests = partials.isnan(), partials == math.inf, partials == -math.inf
    nan, plus, minus = ((test & live).any(1) for test in tests)
    return torch.where(live & partials.isfinite(), partials, 0).double(), nan, plus, minus
