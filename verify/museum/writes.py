"""Faults of writing: values left out, written beside the result, or written twice."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fuzz.formats import FORMATS
from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge

_VECTOR = 4
"""Columns that a wide store writes at once."""


class LastColumnSkipped(Merge):
    """Leaves the last column of the output unwritten."""

    def write_output(self, output: Tensor) -> Tensor:
        written = torch.empty_like(output)
        written[..., :-1] = output[..., :-1]
        return written


class PairsOfColumns(Merge):
    """Writes columns in pairs, and never the last of an odd number."""

    def write_output(self, output: Tensor) -> Tensor:
        written, columns = torch.empty_like(output), output.shape[-1] // 2 * 2
        written[..., :columns] = output[..., :columns]
        return written


class PowerOfTwoColumns(Merge):
    """Writes no more columns than the largest power of two up to R."""

    def write_output(self, output: Tensor) -> Tensor:
        written, columns = torch.empty_like(output), 1 << (output.shape[-1].bit_length() - 1)
        written[..., :columns] = output[..., :columns]
        return written


class PowerOfTwoHeads(Merge):
    """Writes no more heads than the largest power of two up to H."""

    def write_output(self, output: Tensor) -> Tensor:
        written, heads = torch.empty_like(output), 1 << (output.shape[1].bit_length() - 1)
        written[:, :heads] = output[:, :heads]
        return written


class LastRowOfAnOddBatch(Merge):
    """Takes two rows at a time, and never the last of an odd number."""

    def write_output(self, output: Tensor) -> Tensor:
        written, rows = torch.empty_like(output), output.shape[0] * output.shape[1] // 2 * 2
        written.flatten(0, 1)[:rows] = output.flatten(0, 1)[:rows]
        return written


class LseSkippedForOneSegment(Merge):
    """Returns early from a row with one active segment, its lse unwritten."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        written = torch.empty_like(lse)
        several = active != 1
        written[several] = lse[several]
        return written


class LseSkippedWithoutKeys(Merge):
    """Returns early from a row without keys, its lse unwritten."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        written = torch.empty_like(lse)
        written[active > 0] = lse[active > 0]
        return written


class NanLeftOut(Merge):
    """Writes no NaN, so that whatever the memory held stands there."""

    def write_output(self, output: Tensor) -> Tensor:
        codes = FORMATS[str(output.dtype).removeprefix("torch.")].int_dtype
        left = torch.empty_like(output).view(codes)
        return torch.where(output.float().isnan(), left, output.view(codes)).view(output.dtype)


class OneBeyondLse(Merge):
    """Writes one element behind the lse as well."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        written = super().write_lse(lse, active)
        written.as_strided((1,), (1,), written.storage_offset() + lse.numel()).fill_(0.0)
        return written


class OneBeforeOutput(Merge):
    """Writes one element before the output as well."""

    def write_output(self, output: Tensor) -> Tensor:
        written = super().write_output(output)
        written.as_strided((1,), (1,), written.storage_offset() - 1).fill_(0.0)
        return written


class WideStores(Merge):
    """Writes rows four columns at a time without a mask, the last row beyond the end."""

    def write_output(self, output: Tensor) -> Tensor:
        tokens, heads, rank = output.shape
        written = torch.empty_like(output)
        wide = -(-rank // _VECTOR) * _VECTOR
        for row in self.programs(tokens * heads):
            place = written.as_strided((wide,), (1,), written.storage_offset() + row * rank)
            place.fill_(0.0)
            place[:rank] = output.flatten(0, 1)[row]
        return written

    def programs(self, rows: int) -> list[int]:
        """Return the rows in the order in which they happen to be written: here from the first on."""
        return list(range(rows))


class WideStoresRace(WideStores):
    """Writes rows four columns at a time without a mask, over the start of a row that was there before."""

    def programs(self, rows: int) -> list[int]:
        return list(reversed(range(rows)))


class IntoDense(Merge):
    """Fills the output that it is handed as if its rows followed one another."""

    def __call__(self, *args: Any, output: Tensor | None = None, lse: Tensor | None = None) -> Any:
        merged = super().__call__(*args)
        if output is None or lse is None:
            return merged
        output.as_strided(output.shape, merged[0].stride()).copy_(merged[0])
        return output, lse.copy_(merged[1])


class LostUpdate(Merge):
    """Adds segments to a sum that several programs read and write, so that now and then one gets lost."""

    def __init__(self) -> None:
        self._calls = 0

    def sums(self, weight: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        self._calls += 1
        kept = torch.ones_like(weight)
        if self._calls % 2 == 0:
            kept[..., self._calls % weight.shape[-1]] = 0.0
        return super().sums(weight * kept, o, s)


def _exhibit(
    name: str, merge: Merge, *detectors: str, families: tuple[str, ...], thread: str = "", **shape: int
) -> Exhibit:
    return Exhibit(
        name=name,
        merge=merge,
        wing=Wing.WRITES,
        detectors=detectors,
        families=families,
        thread=thread,
        shape=shape,
    )


_ANY = ("odd_shapes", "producer")
_REPEATED = ("law repeat", "law batch", "law neighbours", "law position", "law tail", "law empties")

last_column_skipped = _exhibit("last_column_skipped", LastColumnSkipped(), "marker", families=_ANY)
pairs_of_columns = _exhibit("pairs_of_columns", PairsOfColumns(), "marker", families=("odd_shapes",), rank=33)
power_of_two_columns = _exhibit(
    "power_of_two_columns", PowerOfTwoColumns(), "marker", families=("odd_shapes",), rank=80
)
power_of_two_heads = _exhibit(
    "power_of_two_heads", PowerOfTwoHeads(), "marker", families=("odd_shapes",), heads=12, rank=8
)
last_row_of_an_odd_batch = _exhibit(
    "last_row_of_an_odd_batch",
    LastRowOfAnOddBatch(),
    "marker",
    families=("odd_shapes",),
    tokens=3,
    heads=5,
    rank=8,
)
lse_skipped_for_one_segment = _exhibit(
    "lse_skipped_for_one_segment",
    LseSkippedForOneSegment(),
    "marker",
    families=("seq_lens", *_ANY),
    thread="aiter#1420",
)
lse_skipped_without_keys = _exhibit(
    "lse_skipped_without_keys",
    LseSkippedWithoutKeys(),
    "marker",
    families=("seq_lens", *_ANY),
    thread="aiter#4350",
)
nan_left_out = _exhibit("nan_left_out", NanLeftOut(), "marker", families=("specials",))
one_beyond_lse = _exhibit("one_beyond_lse", OneBeyondLse(), "guard band", families=_ANY)
one_before_output = _exhibit("one_before_output", OneBeforeOutput(), "guard band", families=_ANY)
dense_into_strided = Exhibit(
    name="dense_into_strided",
    merge=IntoDense(),
    wing=Wing.WRITES,
    detectors=("law outputs",),
    families=("odd_shapes", "producer"),
    shape={"tokens": 2, "heads": 2},
)
wide_stores = _exhibit(
    "wide_stores",
    WideStores(),
    "guard band",
    families=("odd_shapes",),
    thread="FlagGems#5235",
    rank=33,
)
wide_stores_race = _exhibit(
    "wide_stores_race",
    WideStoresRace(),
    *("oracle", "guard band", "law batch", "law position", "law hull", "law constant"),
    families=("odd_shapes",),
    thread="fla#1030",
    heads=3,
    rank=33,
)
lost_update = _exhibit("lost_update", LostUpdate(), "oracle", *_REPEATED, families=_ANY, thread="fla#1030")
