"""The acceptance cases A1 to A16: small merges with known answers, and the faulty merges each must reject."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from fuzz.bits import Stream
from fuzz.case import Domain, MergeCase

INF, NAN = math.inf, math.nan

CONVERSIONS = ("lse_in_base_two", "only_log_converted", "only_max_converted")
"""Faulty merges that differ in how the base of the lse is changed."""


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """One acceptance case."""

    name: str
    """Its id, and which part of it."""
    build: Callable[[], MergeCase]
    """Makes the input."""
    faulty: tuple[str, ...]
    """Names of the exhibits of the museum to reject on this input."""
    output: tuple[float, ...] | None = None
    """The right output in reading order, before the rounding to the output format; None: ask the oracle."""
    lse: tuple[float, ...] | None = None
    """The right lse likewise."""
    judged_from: int = 0
    """The first token worth judging."""
    gpu: bool = False
    """Whether it is built on a GPU, for want of memory elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One question to a comparison of results, which A12 puts to the test itself."""

    name: str
    """What came and what was right."""
    got: tuple[float, ...]
    """The results."""
    exact: tuple[float, ...]
    """The exact values."""
    passes: bool
    """The right verdict."""


def from_token(case: MergeCase, token: int) -> MergeCase:
    """Return the case of this token and those after it."""
    return replace(
        case,
        segm_output=case.segm_output[token:],
        segm_max=case.segm_max[token:],
        segm_expsum=case.segm_expsum[token:],
        seq_lens=case.seq_lens[token:],
    )


def tolerant(got: torch.Tensor, exact: torch.Tensor, tolerance: float = 1e-2) -> bool:
    """Compare as a broken gate does: whatever is not further away passes, NaN included."""
    return not bool(((got - exact).abs() > tolerance).any())


def rows(
    m: Sequence[Sequence[float]],
    s: Sequence[Sequence[float]],
    o: Sequence[Sequence[Sequence[float]]],
    *,
    lengths: Sequence[int] | None = None,
    tile_size: int = 1,
    out_dtype: str = "float32",
) -> MergeCase:
    """Return a case of one head: m and s by token and segment, o by token, segment and column.

    Without lengths every segment is active.
    """
    return MergeCase(
        segm_output=torch.tensor(o, dtype=torch.float32)[:, None],
        segm_max=torch.tensor(m, dtype=torch.float32)[:, None],
        segm_expsum=torch.tensor(s, dtype=torch.float32)[:, None],
        seq_lens=torch.tensor(lengths or [len(row) * tile_size for row in m], dtype=torch.int32),
        tile_size=tile_size,
        out_dtype=out_dtype,
        domain=Domain.STRESS,
    )


def ordinary(
    *shape: int,
    length: int | None = None,
    tile_size: int = 1,
    out_dtype: str = "float32",
    device: str = "cpu",
) -> MergeCase:
    """Return a case [T, H, S, R] like those of production: m within ±8, 1 ≤ s < 17, |o| ≤ s."""
    tokens, heads, segments, rank = shape
    stream = Stream(seed=12)
    s = 1 + 16 * stream.unit("s", tokens, heads, segments)
    o = (2 * stream.unit("v", tokens, heads, segments, rank) - 1) * s[..., None]
    return MergeCase(
        segm_output=o.float().to(device),
        segm_max=(16 * stream.unit("m", tokens, heads, segments) - 8).float().to(device),
        segm_expsum=s.float().to(device),
        seq_lens=torch.full((tokens,), length or segments * tile_size, dtype=torch.int32, device=device),
        tile_size=tile_size,
        out_dtype=out_dtype,
        domain=Domain.PRODUCER,
    )


def _far_tokens() -> MergeCase:
    # Only the last tokens hold anything: a wrapped offset then reads zeros.
    near, far = 2047, ordinary(3, 128, 16, 512, device="cuda")
    pad = torch.nn.functional.pad
    return replace(
        far,
        segm_output=pad(far.segm_output, (0, 0) * 3 + (near, 0)),
        segm_max=pad(far.segm_max, (0, 0) * 2 + (near, 0)),
        segm_expsum=pad(far.segm_expsum, (0, 0) * 2 + (near, 0)),
        seq_lens=pad(far.seq_lens, (near, 0), value=16),
    )


def _statistics_of_a5() -> tuple[float, float]:
    first, second = (torch.tensor([20.0, 20.05], dtype=torch.float64) / math.log(2)).float().tolist()
    return first, second


_M5 = _statistics_of_a5()
_S13 = 2.0**-20 * (1 + 2.0**-10)
_A16 = {  # (H, S, R): the faulty merges that have something to get wrong there
    (65, 24, 1): ("power_of_two_segments", "power_of_two_heads"),
    (97, 65, 1): ("power_of_two_segments", "power_of_two_heads"),
    (3, 24, 80): ("power_of_two_segments", "power_of_two_heads", "power_of_two_columns"),
    (1, 65, 448): ("power_of_two_segments", "power_of_two_columns"),
    (1, 130, 576): ("power_of_two_segments", "power_of_two_columns"),
}

ACCEPTANCE: tuple[Acceptance, ...] = (
    Acceptance(
        name="A1 all segments empty beside ordinary rows",
        build=lambda: rows(
            m=[[0, 0, 0, 0], [-INF] * 4, [0, 1, 2, 3]],
            s=[[1] * 4] * 3,
            o=[[[1], [2], [3], [4]], [[0]] * 4, [[1], [2], [3], [4]]],
        ),
        output=(2.5, 0, 49 / 15),
        lse=(math.log(4), -INF, math.log(15)),
        faulty=("no_guard",),
    ),
    Acceptance(
        name="A2 NaN in an empty segment",
        build=lambda: rows(m=[[0, -INF]], s=[[2, 1]], o=[[[2, -4], [NAN, NAN]]]),
        output=(1, -2),
        lse=(math.log(2),),
        faulty=("zero_times_nan",),
    ),
    Acceptance(
        name="A3 no key over leftovers",
        build=lambda: rows(
            m=[[0, 1], [99, 99]], s=[[1, 1], [99, 99]], o=[[[1], [3]], [[99], [99]]], lengths=[2, 0]
        ),
        output=(7 / 3, 0),
        lse=(math.log(3), -INF),
        faulty=("length_ignored",),
    ),
    Acceptance(
        name="A4 base of the lse",
        build=lambda: rows(m=[[10]], s=[[8]], o=[[[1]]]),
        output=(0.125,),
        lse=(13 * math.log(2),),
        faulty=CONVERSIONS,
    ),
    Acceptance(
        name="A4 base of the weights",
        build=lambda: rows(m=[[1, 3]], s=[[1, 1]], o=[[[1], [0]]]),
        output=(0.2,),
        lse=(math.log(10),),
        faulty=("natural_weights", *CONVERSIONS),
    ),
    Acceptance(
        name="A5 masses five percent apart",
        build=lambda: rows(m=[_M5], s=[[1, 1]], o=[[[1], [0]]]),
        output=(1 / (1 + 2 ** (_M5[1] - _M5[0])),),
        lse=(_M5[0] * math.log(2) + math.log1p(2 ** (_M5[1] - _M5[0])),),
        faulty=("bfloat16_statistics",),
    ),
    Acceptance(
        name="A6 overflow and NaN in fp8",
        build=lambda: rows(
            m=[[0]], s=[[1]], o=[[[447, 464, 465, 1000, -1000, NAN]]], out_dtype="float8_e4m3fn"
        ),
        output=(448, 448, 448, 448, -448, NAN),
        lse=(0,),
        faulty=("float8_cast_without_clamp", "float8_clamp_eats_nan"),
    ),
    Acceptance(
        name="A7 as many active segments as were written",
        build=lambda: ordinary(2, 2, 16, 4, length=255, tile_size=16),
        faulty=("stale_tile", "stale_length"),
    ),
    Acceptance(
        name="A8 every element written",
        build=lambda: ordinary(2, 3, 4, 5, out_dtype="bfloat16"),
        faulty=("last_column_skipped", "row_step_of_unpadded"),
    ),
    Acceptance(
        name="A9 offsets past 2^31 elements",
        build=_far_tokens,
        judged_from=2047,
        gpu=True,
        faulty=("offsets_32_bit",),
    ),
    Acceptance(
        name="A10 one active segment beside four",
        build=lambda: rows(m=[[3, 9, 9, 9], [0] * 4], s=[[1] * 4] * 2, o=[[[1]] * 4] * 2, lengths=[1, 4]),
        output=(1, 1),
        lse=(3 * math.log(2), math.log(4)),
        faulty=("lse_skipped_for_one_segment",),
    ),
    Acceptance(
        name="A11 the maximum is a massless segment's",
        build=lambda: rows(m=[[0, -127]], s=[[0, 1]], o=[[[0], [3]]]),
        output=(3,),
        lse=(-127 * math.log(2),),
        faulty=("massless_maximum",),
    ),
    Acceptance(
        name="A12 zeroed, shuffled and flipped results",
        build=lambda: ordinary(2, 2, 4, 8),
        faulty=("zeroed", "shuffled", "sign_flipped"),
    ),
    Acceptance(
        name="A13 maximum and logarithm cancel",
        build=lambda: rows(m=[[20]], s=[[_S13]], o=[[[_S13]]]),
        output=(1,),
        lse=(math.log1p(2.0**-10),),
        faulty=("float32_log_sum",),
    ),
    Acceptance(
        name="A14 sums beyond float32",
        build=lambda: rows(
            m=[[0] * 4] * 2, s=[[1] * 4, [3e38] * 4], o=[[[2e38]] * 4, [[0]] * 4], lengths=[2, 4]
        ),
        output=(2e38, 0),
        lse=(math.log(2), math.log(1.2e39)),
        faulty=("unscaled_float32_sums",),
    ),
    Acceptance(
        name="A15 the longest int32 length",
        build=lambda: rows(
            m=[[0] * 128], s=[[1] * 128], o=[[[i] for i in range(128)]], lengths=[2**31 - 1], tile_size=128
        ),
        output=(63.5,),
        lse=(math.log(128),),
        faulty=("ceiling_32_bit",),
    ),
    *(
        Acceptance(
            name=f"A16 H = {heads}, S = {segments}, R = {rank}",
            build=partial(ordinary, 1, heads, segments, rank, tile_size=16),
            faulty=faulty,
        )
        for (heads, segments, rank), faulty in _A16.items()
    ),
)
"""Every acceptance case, in order."""

COMPARISONS: tuple[Comparison, ...] = (
    Comparison(name="NaN for 1", got=(NAN,), exact=(1,), passes=False),
    Comparison(name="1 for NaN", got=(1,), exact=(NAN,), passes=False),
    Comparison(name="NaN for NaN", got=(NAN,), exact=(NAN,), passes=True),
    Comparison(name="infinity for 448", got=(INF,), exact=(448,), passes=False),
    Comparison(name="0 for −0", got=(0.0,), exact=(-0.0,), passes=True),
    Comparison(name="−0 for 0", got=(-0.0,), exact=(0.0,), passes=True),
    Comparison(name="zeros for numbers", got=(0, 0, 0), exact=(1, 2, 3), passes=False),
    Comparison(name="numbers in another order", got=(2, 3, 1), exact=(1, 2, 3), passes=False),
    Comparison(name="numbers of the other sign", got=(-1, -2, -3), exact=(1, 2, 3), passes=False),
)
"""The questions of A12; `tolerant` answers some of them wrongly."""
