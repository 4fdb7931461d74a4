"""A stand-in for the segmented decode kernel: from scores and values to the partials it leaves in memory.

Its loop is the producers': per segment, over the tiles, a running maximum that is reset to 0 where
everything was masked, sums rescaled when the maximum moves, scores in base 2. Everything strange that a
real producer writes comes out of this loop by itself. Scores are exact integers scaled once; 2^x and every
sum are done in a fixed order of IEEE operations, so the partials have the same bits everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fuzz.bits import plain_nan
from fuzz.exp2 import exp2
from fuzz.partition import active_of, tiles_per_segment_of

_F32 = torch.float32
_F64 = torch.float64


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What one decode step attends to: Q requests, N keys in the longest."""

    scores: torch.Tensor
    """Scaled base-2 scores [T, H, N] float32, of each token against the keys of its request."""
    values: torch.Tensor
    """Values of each request's keys, [Q, N, R] float64, shared by the heads."""
    request: torch.Tensor
    """Request of each token, [T] int64."""
    lengths: torch.Tensor
    """Keys that the partition counts for each token, [T] int64, at most N."""
    first: torch.Tensor
    """First key that each token may see, [T] int64: above 0 under a sliding window."""
    end: torch.Tensor
    """End of the causal prefix of each token, [T] int64, at most its length."""
    sink: torch.Tensor | None
    """Base-2 score of each head's attention sink, [H] float32, where segment 0 starts; None without sinks."""


@dataclass(frozen=True, kw_only=True)
class Partials:
    """What the loop leaves for each segment, and what it saw."""

    o: torch.Tensor
    """[T, H, S, R] float32."""
    m: torch.Tensor
    """[T, H, S] float32."""
    s: torch.Tensor
    """[T, H, S] float32."""
    keys: torch.Tensor
    """Keys of each segment that were not masked, [T, S] int64."""
    visited: torch.Tensor
    """Tiles of each segment that the loop visited, [T, S] int64."""


def segmented(problem: Problem, segments: int, tile_size: int) -> Partials:
    """Return the partials of a problem, segments in parallel, the tiles of each one after another.

    Segments that no token has active keep the state that the loop starts from.
    """
    tokens, heads, longest = problem.scores.shape
    group = tiles_per_segment_of(problem.lengths, segments, tile_size)
    used = max(1, int(active_of(problem.lengths, segments, tile_size).max()))
    start = torch.arange(used) * (group * tile_size)[:, None]
    prefix = torch.minimum(problem.end, problem.lengths)[:, None]
    m = torch.full((tokens, heads, segments), -torch.inf, dtype=_F32)
    if problem.sink is not None:
        m[..., 0] = problem.sink[None, :]
    s = torch.ones_like(m)
    o = torch.zeros((tokens, heads, segments, problem.values.shape[-1]), dtype=_F32)
    keys = torch.zeros((tokens, segments), dtype=torch.int64)
    visited = torch.zeros_like(keys)
    for tile in range(int(group.max())):
        at = start + tile * tile_size
        visit = (tile < group[:, None]) & (at < prefix)
        if not bool(visit.any()):
            continue
        key = at[..., None] + torch.arange(tile_size)
        seen = (key < prefix[..., None]) & (key >= problem.first[:, None, None]) & visit[..., None]
        key = key.clamp_max(longest - 1)
        score = torch.gather(problem.scores, 2, key.reshape(tokens, 1, -1).expand(-1, heads, -1))
        score = score.reshape(tokens, heads, used, tile_size)
        score = torch.where(seen[:, None], score, -torch.inf)
        before = o[:, :, :used], m[:, :, :used], s[:, :, :used]
        after = _tile(problem, before, score, key)
        change = visit[:, None].expand(-1, heads, -1)
        o[:, :, :used] = torch.where(change[..., None], after[0], before[0])
        m[:, :, :used] = torch.where(change, after[1], before[1])
        s[:, :, :used] = torch.where(change, after[2], before[2])
        keys[:, :used] += seen.sum(dim=-1)
        visited[:, :used] += visit
    return Partials(o=plain_nan(o), m=plain_nan(m), s=plain_nan(s), keys=keys, visited=visited)


def _tile(
    problem: Problem,
    state: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    score: torch.Tensor,
    key: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Take one tile into (o, m, s); `score` [T, H, S, tile] is −inf where masked."""
    o, m, s = state
    largest = m
    for lane in range(score.shape[-1]):
        largest = torch.fmax(largest, score[..., lane])  # fmax ignores NaN, as the maximum on the device does
    largest = torch.where(largest > -torch.inf, largest, torch.zeros_like(largest))
    weight = exp2(score.to(_F64) - largest.to(_F64)[..., None]).to(_F32).to(_F64)
    rescale = exp2(m.to(_F64) - largest.to(_F64)).to(_F32).to(_F64)
    mass = torch.zeros(m.shape, dtype=_F64)
    moment = torch.zeros(o.shape, dtype=_F64)
    # A lane that is masked everywhere would add zeros.
    lanes = (score != -torch.inf).flatten(0, 2).any(dim=0).nonzero().flatten().tolist()
    for lane in lanes:
        mass = mass + weight[..., lane]
        values = problem.values[problem.request[:, None], key[..., lane]]
        moment = moment + weight[..., lane, None] * values[:, None]
    s = ((s.to(_F64) * rescale).to(_F32).to(_F64) + mass).to(_F32)
    o = ((o.to(_F64) * rescale[..., None]).to(_F32).to(_F64) + moment).to(_F32)
    return o, largest, s
