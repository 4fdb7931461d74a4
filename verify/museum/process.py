"""Faults of the process: calls that raise, return the wrong things or nothing, or take the process along."""

# What the overridden steps are for is said in honest.py.
# ruff: noqa: D102

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge


class ExitsWithoutKeys(Merge):
    """Ends the process when a token has no key."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        if bool((seq_lens <= 0).any()):
            os._exit(7)
        return super().active(seq_lens, segments, tile_size)


class HangsOnARaggedTile(Merge):
    """Counts the keys of a row down to 0 by whole tiles, and never meets it in a ragged one."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        ragged = bool(((seq_lens > 0) & (seq_lens % tile_size != 0)).any())
        while ragged:
            time.sleep(0.01)
        return super().active(seq_lens, segments, tile_size)


class ReadsAddressZero(Merge):
    """Reads scratch memory that it allocated for several segments only."""

    def active(self, seq_lens: Tensor, segments: int, tile_size: int) -> Tensor:
        if segments == 1:
            ctypes.string_at(0)
        return super().active(seq_lens, segments, tile_size)


class RefusesOddRanks(Merge):
    """Raises where R is no power of two, as a kernel whose blocks must be one does."""

    def values(self, segm_output: Tensor, tokens: slice) -> Tensor:
        rank = segm_output.shape[-1]
        if rank & (rank - 1):
            raise ValueError("arange's range must be a power of 2")
        return super().values(segm_output, tokens)


class RaisesWithoutMass(Merge):
    """Raises where a row has no mass, dividing by it on the host."""

    def massless(self, live: Tensor) -> Tensor:
        massless = super().massless(live)
        if bool(massless.any()):
            raise ZeroDivisionError("float division by zero")
        return massless


class LseInFloat64(Merge):
    """Returns the lse in the dtype that it was computed in."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        return super().write_lse(lse.double(), active)


class OutputInFloat32(Merge):
    """Returns the output in float32, whatever was asked for."""

    def write_output(self, output: Tensor) -> Tensor:
        return super().write_output(output.float())


class LseByHead(Merge):
    """Returns the lse as [H, T]."""

    def write_lse(self, lse: Tensor, active: Tensor) -> Tensor:
        return super().write_lse(lse.T, active)


def forgets_the_lse(*args: Any) -> Any:
    """Return the output alone."""
    return reference(*args)[0]


def returns_a_sparse_lse(*args: Any) -> tuple[Tensor, Tensor]:
    """Return the lse in a sparse layout that nobody asked for."""
    output, lse = reference(*args)
    return output, lse.to_sparse()


reference = Merge()


def _exhibit(name: str, merge: Any, detector: str, *families: str, **more: Any) -> Exhibit:
    families = families or ("odd_shapes", "producer")
    return Exhibit(
        name=name, merge=merge, wing=Wing.PROCESS, detectors=(detector,), families=families, **more
    )


exits_without_keys = _exhibit(
    "exits_without_keys", ExitsWithoutKeys(), "isolation", "seq_lens", ends_process=True
)
hangs_on_a_ragged_tile = _exhibit(
    "hangs_on_a_ragged_tile", HangsOnARaggedTile(), "isolation", "seq_lens", ends_process=True
)
reads_address_zero = _exhibit(
    "reads_address_zero",
    ReadsAddressZero(),
    "isolation",
    "odd_shapes",
    shape={"segments": 1},
    ends_process=True,
)
refuses_odd_ranks = _exhibit(
    "refuses_odd_ranks", RefusesOddRanks(), "isolation", "odd_shapes", shape={"rank": 33}
)
raises_without_mass = _exhibit("raises_without_mass", RaisesWithoutMass(), "isolation", "empties", "neg_inf")
lse_in_float64 = _exhibit("lse_in_float64", LseInFloat64(), "signature")
output_in_float32 = _exhibit(
    "output_in_float32", OutputInFloat32(), "signature", dtypes=("float16", "bfloat16", "float8_e4m3fn")
)
lse_by_head = _exhibit("lse_by_head", LseByHead(), "signature", shape={"tokens": 2, "heads": 3, "rank": 8})
no_lse = _exhibit("no_lse", forgets_the_lse, "signature")
sparse_lse = _exhibit("sparse_lse", returns_a_sparse_lse, "signature")
