"""Faults of determinism: results that depend on the batch, on the place in it, or on calls before.

Most of them only add the segments in another order: every value stays within any bound, so that the laws
alone can tell.
"""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge
from verify.museum.sound import Backward


class _EitherWay(Merge):
    """Adds the segments of some rows from the back."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        forward, backward = super().rows(o, m, s, active), Backward().rows(o, m, s, active)
        turned = self.turned(o, m, s, active).expand(m.shape[:2])
        return torch.where(turned[..., None], backward[0], forward[0]), torch.where(
            turned, backward[1], forward[1]
        )

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        """Return a mask that broadcasts to [T, H] of the rows that are added from the back."""
        raise NotImplementedError


class EverySecondCall(_EitherWay):
    """Adds the segments from the back at every second call."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, *args: Any) -> tuple[Tensor, Tensor]:
        self._calls += 1
        return super().__call__(*args)

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[self._calls % 2 == 0]], device=o.device)


class OrderByBatchSize(_EitherWay):
    """Adds the segments from the back in a batch of more than four rows."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[m.shape[0] * m.shape[1] > 4]], device=o.device)


class OrderByPlace(_EitherWay):
    """Adds the segments from the back for every second token."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.arange(m.shape[0], device=o.device)[:, None] % 2 == 1


class OrderByHead(_EitherWay):
    """Adds the segments from the back for every second head."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.arange(m.shape[1], device=o.device)[None] % 2 == 1


class OrderByLongestRow(_EitherWay):
    """Adds the segments from the back when any row of the batch has them all."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return (active == m.shape[-1]).any().reshape(1, 1)


class OrderByTail(_EitherWay):
    """Adds the segments from the back where the last segment, written or not, has a positive maximum."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return m[..., -1] > 0


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

every_second_call = Exhibit(
    name="every_second_call",
    merge=EverySecondCall(),
    wing=Wing.DEPENDENCE,
    detectors=("law repeat", *_NOT_ALONE, "law tail", "law empties", "law strides"),
    families=_CANCELS,
)
order_by_batch_size = Exhibit(
    name="order_by_batch_size",
    merge=OrderByBatchSize(),
    wing=Wing.DEPENDENCE,
    detectors=("law batch",),
    families=_CANCELS,
    shape={"tokens": 4, "heads": 3, "rank": 8, "segments": 8},
    thread="aiter#4378",
)
order_by_place = Exhibit(
    name="order_by_place",
    merge=OrderByPlace(),
    wing=Wing.DEPENDENCE,
    detectors=("law position", "law batch"),
    families=_CANCELS,
    shape={"tokens": 4, "heads": 2, "rank": 8, "segments": 8},
)
order_by_head = Exhibit(
    name="order_by_head",
    merge=OrderByHead(),
    wing=Wing.DEPENDENCE,
    detectors=("law position", "law batch"),
    families=_CANCELS,
    shape={"tokens": 2, "heads": 4, "rank": 8, "segments": 8},
)
order_by_longest_row = Exhibit(
    name="order_by_longest_row",
    merge=OrderByLongestRow(),
    wing=Wing.DEPENDENCE,
    detectors=("law neighbours", "law batch"),
    families=_CANCELS,
    shape={"tokens": 4, "heads": 2, "rank": 8, "segments": 8},
    thread="aiter#4378",
)
order_by_tail = Exhibit(
    name="order_by_tail",
    merge=OrderByTail(),
    wing=Wing.DEPENDENCE,
    detectors=("law tail", "law empties", "law shift"),
    families=_CANCELS,
    shape={"tokens": 4, "heads": 2, "rank": 8, "segments": 8},
)
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
