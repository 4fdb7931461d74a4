"""Time calls on a GPU: captured in a CUDA graph, so that nothing of the host is measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

_REPLAYS = 21
_CALLS = 20  # at least so many in a graph, so that the start of a replay does not count
_READ_ELEMENTS = 1 << 28  # 1 GiB of float32


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Microseconds of one call, over the replays of a graph of many."""

    median: float
    p20: float
    p80: float


def time_calls(call: Callable[..., object], inputs: Sequence[Sequence[object]]) -> Timing:
    """Time call(*inputs[i]), the inputs in rotation: with enough of them none is found in a cache.

    Each is called once beforehand, for what a first call compiles.
    """
    for arguments in inputs:
        call(*arguments)
    torch.cuda.synchronize()
    rounds = -(-_CALLS // len(inputs))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for arguments in inputs:
                call(*arguments)
    graph.replay()
    torch.cuda.synchronize()
    found = []
    for _ in range(_REPLAYS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(1e3 * start.elapsed_time(end) / (rounds * len(inputs)))
    p20, median, p80 = (statistics.quantiles(found, n=10, method="inclusive")[i] for i in (1, 4, 7))
    return Timing(median=median, p20=p20, p80=p80)


def read_bandwidth() -> float:
    """Measure the bytes a second at which torch sums 1 GiB."""
    numbers = torch.ones(_READ_ELEMENTS, device="cuda")
    return 1e6 * numbers.nbytes / time_calls(torch.sum, [(numbers,)]).median
