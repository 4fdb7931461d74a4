"""How many segments are read, seen through the mass of rows whose segments weigh 1 each."""

import math

import pytest
import torch

from mla_merge import merge_mla_segments_triton
from mla_merge.tests.reference import active_segments
from mla_merge.tests.rows import NAN

EXTREMES = [2**31 - 1, 2**31 - 2, 2**30 + 1, 0, -1, -(2**31)]
WIDE = [2**63 - 1, 2**63 - 2, 2**62 + 1, 2**53 + 1, 2**31, 2**32 + 1, -(2**63), -(2**31) - 1]


def lengths(segments: int, tile: int) -> list[int]:
    edges = [k * segments * tile + d for k in range(5) for d in (-1, 0, 1)]
    return [*edges, *range(0, 3 * segments * tile, max(1, segments * tile // 29)), *EXTREMES]


@pytest.mark.parametrize("segments", [1, 2, 8, 24, 128])
@pytest.mark.parametrize("tile", [1, 7, 64, 128, 2**31 - 1])
@pytest.mark.parametrize("integer", [torch.int32, torch.int64], ids=str)
def test_active_segments(segments, tile, integer, device):
    limit = torch.iinfo(integer)
    wanted = lengths(segments, tile) + (WIDE if integer == torch.int64 else [])
    lens = sorted({n for n in wanted if limit.min <= n <= limit.max})
    m = torch.zeros(len(lens), 1, segments, device=device)
    o = torch.zeros(len(lens), 1, segments, 1, device=device)
    active = [active_segments(n, segments, tile) for n in lens]
    # What lies beyond must not be looked at.
    dead = torch.arange(segments)[None, None] >= torch.tensor(active)[:, None, None]
    s = torch.ones_like(m).masked_fill_(dead.to(device), NAN)
    o.masked_fill_(dead.to(device)[..., None], NAN)
    seq_lens = torch.tensor(lens, dtype=integer, device=device)
    output, lse = merge_mla_segments_triton(o, m, s, seq_lens, tile, torch.float32)
    assert torch.all(output == 0)
    expected = torch.tensor([math.log(n) if n else -math.inf for n in active], dtype=torch.float64)
    assert torch.equal(lse[:, 0].cpu(), expected.float())


def test_not_monotone(device):
    lens = torch.tensor([512, 513, 1024, 1025], device=device)
    m = torch.zeros(4, 1, 8, device=device)
    lse = merge_mla_segments_triton(m[..., None], m, m + 1, lens, 64, torch.float32)[1]
    assert lse.exp().round().flatten().tolist() == [8, 5, 8, 6]


def test_longest_row_uses_every_segment(device):
    m = torch.zeros(1, 1, 128, device=device)
    lens = torch.tensor([2**31 - 1], dtype=torch.int32, device=device)
    lse = merge_mla_segments_triton(m[..., None], m, m + 1, lens, 128, torch.float32)[1]
    assert lse.double().item() == torch.tensor(math.log(128)).double().item()
