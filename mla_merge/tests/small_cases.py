"""Merge small cases in every regime: what a memory checker watches, as a program of its own.

    compute-sanitizer --tool memcheck python -m mla_merge.tests.small_cases
    compute-sanitizer --tool racecheck python -m mla_merge.tests.small_cases

with PYTORCH_NO_CUDA_MEMORY_CACHING=1, so that every tensor ends where its memory does.
"""

from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import torch

from mla_merge import launcher, plan
from mla_merge.tests.rows import merge, random_partials, same_bits

REGIMES = [value for value in vars(plan).values() if isinstance(value, plan.Regime)]
# (tokens, heads, rank): contiguous in fours, or not; within a block of columns and past one.
SHAPES = [(3, 3, 40), (2, 2, 37), (1, 2, 516)]


def main() -> None:
    """Merge each case in each regime, compare the bits with those of the first and count them."""
    done = 0
    for tokens, heads, rank in SHAPES:
        for segments in (5, 16, 40):
            inputs = random_partials(tokens, heads, segments, rank, "cuda")
            first = merge(inputs, torch.bfloat16)
            for regime in REGIMES:
                if regime.whole and regime.step < segments:
                    continue
                with mock.patch.object(launcher, "plan", _always(regime)):
                    if not same_bits(first, merge(inputs, torch.bfloat16)):
                        raise SystemExit(f"{regime} gives other bits")
                done += 1
        for dtype in (torch.float32, torch.float16, torch.float8_e5m2):
            merge(inputs, dtype)
            done += 1
    torch.cuda.synchronize()
    print(f"merged {done} cases")


def _always(regime: plan.Regime) -> Callable[..., plan.Plan]:
    def chosen(rows: int, segments: int, rank: int, *, aligned: bool, interpreted: bool) -> plan.Plan:
        ordinary = plan.plan(rows, segments, rank, aligned=aligned, interpreted=interpreted)
        block_s = plan.surveyed(segments, regime)
        return replace(ordinary, regime=regime, block_s=block_s, grid=(rows, -(-rank // regime.block_r)))

    return chosen


if __name__ == "__main__":
    main()
