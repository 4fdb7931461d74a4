"""Large amounts of data like a producer's, made on the device that will use it.

Not a family of the campaign: torch's generator differs between devices and versions, so that such a case
cannot be drawn again elsewhere. It serves to measure, where only its distribution matters.
"""

from __future__ import annotations

import torch

from fuzz.case import Domain, MergeCase

TILE = 64
_EMPTY = ((-torch.inf, 1.0, 0.0), (0.0, 0.0, 0.0), (-torch.inf, torch.nan, torch.nan))
"""(m, s, o) of a segment without mass, as three kinds of producer write it."""


def production_case(
    tokens: int,
    heads: int,
    segments: int,
    rank: int,
    *,
    dtype: str,
    device: str,
    seed: int = 0,
    active: int | None = None,
    empty: float = 0.0,
) -> MergeCase:
    """Return a case of the producer domain: maxima within a few bits, sums of up to a tile, ordinary values.

    `active` segments of every token are written (default: all), the rest holds NaN; `empty` is the share of
    written segments without mass.
    """
    random = torch.Generator(device).manual_seed(seed)
    shape = (tokens, heads, segments)
    m = torch.randn(shape, generator=random, device=device) * 4
    s = 1 + (TILE - 1) * torch.rand(shape, generator=random, device=device)
    o = torch.randn((*shape, rank), generator=random, device=device).clamp_(-5, 5).mul_(s[..., None])
    if empty:
        kind = torch.randint(len(_EMPTY), shape, generator=random, device=device)
        chosen = torch.rand(shape, generator=random, device=device) < empty
        for number, (m_empty, s_empty, o_empty) in enumerate(_EMPTY):
            here = chosen & (kind == number)
            m.masked_fill_(here, m_empty)
            s.masked_fill_(here, s_empty)
            o.masked_fill_(here[..., None], o_empty)
    written = segments if active is None else active
    for tensor in (m, s, o):
        tensor[:, :, written:] = torch.nan
    return MergeCase(
        segm_output=o,
        segm_max=m,
        segm_expsum=s,
        seq_lens=torch.full((tokens,), written * TILE, dtype=torch.int32, device=device),
        tile_size=TILE,
        out_dtype=dtype,
        domain=Domain.PRODUCER,
    )
