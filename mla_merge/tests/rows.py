"""Rows written out by hand, merged by the kernel."""

import math

import torch

from mla_merge import merge_mla_segments_triton

INF = math.inf
NAN = math.nan


def merge_row(m, s, o, device, *, dtype=torch.float32, length=None, tile=1):
    """Merge one row; o is [S] (R = 1) or [S][R]. All S segments are active unless a length is given.

    Gives (output as a list of R floats, lse as a float).
    """
    o = torch.tensor(o, dtype=torch.float32, device=device)
    o = o[:, None] if o.ndim == 1 else o
    m = torch.tensor(m, dtype=torch.float32, device=device)
    s = torch.tensor(s, dtype=torch.float32, device=device)
    lens = torch.tensor([m.numel() * tile if length is None else length], device=device)
    output, lse = merge_mla_segments_triton(o[None, None], m[None, None], s[None, None], lens, tile, dtype)
    return output[0, 0].double().tolist(), lse.double().item()


def merge(inputs, dtype, *, tile=4):
    """Merge (o, m, s, seq_lens)."""
    o, m, s, lens = inputs
    return merge_mla_segments_triton(o, m, s, lens, tile, dtype)


def bits(output, lse):
    """Everything that a merge returned, as bytes."""
    return output.cpu().view(torch.uint8), lse.cpu().view(torch.uint8)


def same_bits(a, b) -> bool:
    """Whether two merges returned the same shapes, dtypes and bits."""
    pairs = list(zip(a, b, strict=True))
    alike = all(x.shape == y.shape and x.dtype == y.dtype for x, y in pairs)
    return alike and all(torch.equal(x, y) for x, y in zip(bits(*a), bits(*b), strict=True))


def random_partials(tokens, heads, segments, rank, device, *, seed=0):
    """Ordinary partials of full rows, some segments empty in every encoding."""
    gen = torch.Generator().manual_seed(seed)
    o = torch.randn(tokens, heads, segments, rank, generator=gen)
    m = torch.randn(tokens, heads, segments, generator=gen) * 8
    s = torch.rand(tokens, heads, segments, generator=gen) * 100 + 1
    state = torch.randint(0, 12, m.shape, generator=gen)
    for number, (m_empty, s_empty) in enumerate([(-INF, 1.0), (0.0, 0.0), (-INF, NAN)]):
        m[state == number] = m_empty
        s[state == number] = s_empty
        o[state == number] = (0.0, 0.0, NAN)[number]
    lens = torch.randint(-1, 9 * segments, (tokens,), generator=gen, dtype=torch.int32)
    return [x.to(device) for x in (o, m, s, lens)]
