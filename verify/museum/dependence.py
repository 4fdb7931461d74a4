"""Faults of determinism: results that depend on the batch, on the place in it, or on calls before."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class _Float32Totals(Merge):
    """Rounds both sums to float32."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        num, den = super().sums(weight, o, s)
        return num.float().double(), den.float().double()


class PrecisionByBatchSize(_Float32Totals):
    """Rounds the sums to float32 in a batch of more than four rows."""

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        large = weight.shape[0] * weight.shape[1] > 4
        return super().sums(weight, o, s) if large else Merge().sums(weight, o, s)


class PrecisionByEncoding(Merge):
    """Rounds the sums of a row to float32 where an empty segment is marked by its maximum."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        exact, rough = super().rows(o, m, s, active), _Float32Totals().rows(o, m, s, active)
        written = torch.arange(m.shape[-1], device=m.device) < active[:, None, None]
        marked = (written & (m == -torch.inf)).any(-1)
        return torch.where(marked[..., None], rough[0], exact[0]), torch.where(marked, rough[1], exact[1])


class MaximumOfAllHeads(Merge):
    """Scales every head of a token by the largest maximum of them all, with weights as float32 holds them."""

    def top(self, written: Tensor, live: Tensor, m: Tensor) -> Tensor:
        return super().top(written, live, m).amax(-1, keepdim=True).expand(m.shape[:2])

    def weight(self, gap: Tensor) -> Tensor:
        return torch.where(gap < -126, 0.0, super().weight(gap))


class ActiveOfLastCall(Merge):
    """Keeps the numbers of active segments of the last call of the same shape."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Tensor] = {}

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        active = super().active(seq_lens, segments, tile_size)
        return self._kept.setdefault((len(seq_lens), segments, tile_size), active).to(active.device)


_NOT_ALONE = ("law batch", "law neighbours", "law position")
_CANCELS = ("cancellation", "bit_patterns", "ties")

precision_by_batch_size = Exhibit(
    name="precision_by_batch_size",
    merge=PrecisionByBatchSize(),
    wing=Wing.DEPENDENCE,
    detectors=("law batch", "oracle", "law constant", "law hull", "law single", "law scale", "law mass"),
    families=_CANCELS,
    shape={"tokens": 4, "heads": 3, "rank": 8, "segments": 8},
    thread="aiter#4378",
)
precision_by_encoding = Exhibit(
    name="precision_by_encoding",
    merge=PrecisionByEncoding(),
    wing=Wing.DEPENDENCE,
    detectors=("law empties", "oracle", "law constant", "law hull", "law single", "law scale", "law mass"),
    families=("empties", "neg_inf"),
    dtypes=("float32",),
    shape={"tokens": 4, "heads": 2, "rank": 8, "segments": 8},
)
maximum_of_all_heads = Exhibit(
    name="maximum_of_all_heads",
    merge=MaximumOfAllHeads(),
    wing=Wing.DEPENDENCE,
    detectors=("law neighbours", "oracle", *("law batch", "law position", "law shift", "law single")),
    families=("huge_ranges", "bit_patterns"),
    shape={"tokens": 3, "heads": 4, "rank": 8},
)
active_of_last_call = Exhibit(
    name="active_of_last_call",
    merge=ActiveOfLastCall(),
    wing=Wing.DEPENDENCE,
    detectors=("oracle", *_NOT_ALONE, "law repeat"),
    families=("seq_lens", "producer"),
    shape={"tokens": 4, "segments": 8, "tile_size": 16},
)
