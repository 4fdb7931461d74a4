"""Faults of order: the segments are added from the back where something says so that must have no say.

Every value stays within any bound, so that the laws alone can tell, and only on sums that feel the order.
"""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fuzz.bits import exponent_of
from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge
from verify.museum.sound import Backward


class EitherWay(Merge):
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


class EverySecondCall(EitherWay):
    """Adds the segments from the back at every second call."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, *args: Any) -> tuple[Tensor, Tensor]:
        self._calls += 1
        return super().__call__(*args)

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[self._calls % 2 == 0]], device=o.device)


class OrderByBatchSize(EitherWay):
    """Adds the segments from the back in a batch of more than four rows."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[m.shape[0] * m.shape[1] > 4]], device=o.device)


class OrderByPlace(EitherWay):
    """Adds the segments from the back for every second token."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.arange(m.shape[0], device=o.device)[:, None] % 2 == 1


class OrderByHead(EitherWay):
    """Adds the segments from the back for every second head."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.arange(m.shape[1], device=o.device)[None] % 2 == 1


class OrderByLongestRow(EitherWay):
    """Adds the segments from the back when any row of the batch has them all."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return (active == m.shape[-1]).any().reshape(1, 1)


class OrderByTail(EitherWay):
    """Adds the segments from the back where the last segment, written or not, has a positive maximum."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return m[..., -1] > 0


class WhenValuesComeBack(EitherWay):
    """Adds the segments from the back where the values of the last call but one come back after others."""

    def __init__(self) -> None:
        self._before: tuple[Tensor, ...] = ()

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        again = [_same(o, before) for before in self._before]
        self._before = (*self._before[-1:], o.clone())
        return torch.tensor([[again == [True, False]]], device=o.device)


class BesideIdle(EitherWay):
    """Adds the segments from the back in a batch of which a third of the tokens or more have no keys."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return ((len(active) > 1) & (3 * (active == 0).sum() >= len(active))).reshape(1, 1)


class OfEqualTotals(EitherWay):
    """Keeps by the numbers of rows and keys which rows it adds from the back, those of an odd length."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Tensor] = {}

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        total = int(seq_lens.double().sum())
        odd = seq_lens.to(torch.int64) % 2 == 1
        self._odd = self._kept.setdefault((len(seq_lens), total, segments, tile_size), odd).to(odd.device)
        return super().active(seq_lens, segments, tile_size)

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return self._odd[:, None]


class OfSharedRows(EitherWay):
    """Adds the segments from the back where several tokens or heads are the same memory."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        shared = any(n > 1 and stride == 0 for n, stride in zip(o.shape[:2], o.stride()[:2], strict=True))
        return torch.tensor([[shared]], device=o.device)


class IntoOutputs(EitherWay):
    """Adds the segments from the back when it is handed its outputs."""

    def __call__(self, *args: Any, output: Tensor | None = None, lse: Tensor | None = None) -> Any:
        self._handed = output is not None
        merged = super().__call__(*args)
        if output is None or lse is None:
            return merged
        return output.copy_(merged[0]), lse.copy_(merged[1])

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[self._handed]], device=o.device)


class MassesByBatchSize(EitherWay):
    """Adds the masses, and they alone, from the back in a batch of more than four rows."""

    def rows(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        return Merge().rows(o, m, s, active)[0], super().rows(o, m, s, active)[1]

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return torch.tensor([[m.shape[0] * m.shape[1] > 4]], device=o.device)


class ByMaximum(EitherWay):
    """Adds the segments of a row from the back where its largest maximum is negative."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        live = self.live(torch.arange(m.shape[-1], device=m.device) < active[:, None, None], m, s)
        return self.top(live, live, m) < 0


class BySizeOfMeans(EitherWay):
    """Adds the segments of a row from the back where the sizes of o and s are an odd power of two apart."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return (_size(self, o, o, m, s, active) - _size(self, s[..., None], o, m, s, active)) % 2 == 1


class BySizeOfMasses(EitherWay):
    """Adds the segments of a row from the back where the exponent of its largest mass is odd."""

    def turned(self, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
        return _size(self, s[..., None], o, m, s, active) % 2 == 1


def _size(merge: Merge, x: Tensor, o: Tensor, m: Tensor, s: Tensor, active: Tensor) -> Tensor:
    """Return the exponent [T, H] of the largest x [T, H, S, …] in a live segment."""
    live = merge.live(torch.arange(m.shape[-1], device=m.device) < active[:, None, None], m, s)
    kept = torch.where(live[..., None], x.double().abs().nan_to_num(0.0, 0.0), 0.0)
    return exponent_of(kept.amax((2, 3)) if kept.numel() else kept.sum((2, 3)))


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a.nan_to_num(1.25e30), b.nan_to_num(1.25e30))


_COMPANY = ("law batch", "law neighbours", "law position")
_ANY = ("producer", "cancellation")


def _exhibit(
    name: str,
    merge: Merge,
    *detectors: str,
    families: tuple[str, ...] = _ANY,
    thread: str = "",
    exact: bool = False,
    **shape: int,
) -> Exhibit:
    return Exhibit(
        name=name,
        merge=merge,
        wing=Wing.ORDER,
        detectors=detectors,
        families=families,
        shape={"rank": 8, "segments": 8, **shape},
        thread=thread,
        exact=exact,
    )


every_second_call = _exhibit(
    "every_second_call",
    EverySecondCall(),
    *("law repeat", *_COMPANY, "law tail", "law empties", "law strides"),
)
order_by_batch_size = _exhibit(
    "order_by_batch_size", OrderByBatchSize(), "law batch", thread="aiter#4378", tokens=4, heads=3
)
order_by_place = _exhibit(
    "order_by_place", OrderByPlace(), *("law position", "law batch", "law strides"), tokens=4, heads=2
)
order_by_head = _exhibit(
    "order_by_head", OrderByHead(), *("law position", "law batch", "law strides"), tokens=2, heads=4
)
order_by_longest_row = _exhibit(
    "order_by_longest_row",
    OrderByLongestRow(),
    *("law batch", "law neighbours", "law strides"),
    thread="aiter#4378",
    tokens=4,
    heads=2,
)
order_by_tail = _exhibit(
    "order_by_tail",
    OrderByTail(),
    *("law tail", "law empties", "law shift"),
    tokens=4,
    heads=2,
)
order_when_values_come_back = _exhibit(
    "order_when_values_come_back", WhenValuesComeBack(), "law repeat", tokens=3, heads=2
)
order_beside_idle = _exhibit(
    "order_beside_idle", BesideIdle(), *("law neighbours", "law batch", "law strides"), tokens=4, heads=2
)
order_of_equal_totals = _exhibit(
    "order_of_equal_totals", OfEqualTotals(), "law position", families=("producer", "seq_lens"), tokens=4
)
order_of_shared_rows = _exhibit("order_of_shared_rows", OfSharedRows(), "law strides", tokens=3, heads=3)
order_into_outputs = _exhibit("order_into_outputs", IntoOutputs(), "law outputs", tokens=3, heads=2)
order_of_masses = _exhibit("order_of_masses", MassesByBatchSize(), "law batch", tokens=4, heads=3)
order_by_maximum = _exhibit("order_by_maximum", ByMaximum(), "law shift", exact=True, tokens=4, heads=2)
order_by_size_of_means = _exhibit(
    "order_by_size_of_means", BySizeOfMeans(), "law scale", exact=True, tokens=4, heads=2
)
order_by_size_of_masses = _exhibit(
    "order_by_size_of_masses", BySizeOfMasses(), "law mass", exact=True, tokens=4, heads=2
)
