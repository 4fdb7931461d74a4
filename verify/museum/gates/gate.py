"""What a gate is: some cases, and a comparison that raises where it does not like what came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.subjects.guard import GuardedAllocations

_SAID = 120  # characters of a complaint


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One public test of a merge."""

    name: str
    """Its name."""
    inputs: str
    """What it shows the kernel, in a line."""
    tolerance: str
    """What it allows, in a line."""
    cases: Callable[[], Iterator[MergeCase]]
    """Its cases, the same at each call."""
    compare: Callable[[MergeCase, Tensor, Tensor], None]
    """Raises where output [T, H, R] or lse [T, H] is not what is wanted of the case."""

    def complaint(
        self, merge: Callable[..., Any], device: str, calling: Callable[[], None] = lambda: None
    ) -> str:
        """Return what the gate has against a kernel, empty for nothing; `calling` is told of each call.

        Whatever is raised counts, by the kernel or for what it returned. Kernel and reference are given the
        same tensors, the reference after the call. What the kernel allocates and leaves unwritten holds NaN,
        the luckiest garbage there is for a gate. Around its allocations is memory that nobody looks at, as on
        a GPU, where a stray write raises nothing.
        """
        torch.manual_seed(0)
        for case in self.cases():
            shown = case.to(device)
            calling()
            try:
                with torch.no_grad(), GuardedAllocations():
                    output, lse = merge(
                        *(shown.segm_output, shown.segm_max, shown.segm_expsum, shown.seq_lens),
                        shown.tile_size,
                        FORMATS[shown.out_dtype].torch_dtype,
                    )
                self.compare(shown, output, lse)
            except (Exception, SystemExit) as error:
                said = " ".join(str(error).split())[:_SAID]
                return f"{type(error).__name__}: {said} (S = {case.S}, {case.out_dtype})"
        return ""
