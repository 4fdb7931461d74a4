"""The cases that the corpus began with: known answers and known weaknesses. Run it to write their files.

python -m fuzz.corpus.known [FOLDER]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch

from fuzz.bits import Stream
from fuzz.case import Domain, MergeCase
from fuzz.corpus import FOLDER
from fuzz.files import save_case
from fuzz.formats import FORMATS, Format

NAN, INF = math.nan, math.inf

FLOAT8: Final = tuple(name for name, fmt in FORMATS.items() if fmt.bits == 8)
NARROW: Final = tuple(name for name, fmt in FORMATS.items() if fmt.bits < 32)

_SHORT: Final = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    **{name: name.removeprefix("float8_") for name in FLOAT8},
}


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


def ordinary(tokens: int, heads: int, segments: int, rank: int, out_dtype: str = "float32") -> MergeCase:
    """Return a case of that shape with every segment active: |m| ≤ 8, 1 ≤ s < 17, |o| ≤ s."""
    stream = Stream(seed=16)
    s = 1 + 16 * stream.unit("s", tokens, heads, segments)
    o = (2 * stream.unit("v", tokens, heads, segments, rank) - 1) * s[..., None]
    return MergeCase(
        segm_output=o.float(),
        segm_max=(16 * stream.unit("m", tokens, heads, segments) - 8).float(),
        segm_expsum=s.float(),
        seq_lens=torch.full((tokens,), segments, dtype=torch.int32),
        tile_size=1,
        out_dtype=out_dtype,
        domain=Domain.STRESS,
    )


def known() -> Iterator[tuple[str, MergeCase]]:
    """Yield the name and the case of each file: first the acceptance cases a1 …, then weaknesses w1 …."""
    yield from _empties()
    yield from _statistics()
    yield from _overflows()
    yield from _shapes()
    yield from _specials()


def _in(dtype: str) -> str:
    return f"-{_SHORT[dtype]}"


def _empties() -> Iterator[tuple[str, MergeCase]]:
    some = [[1], [2], [3], [4]]
    yield (
        "a1-all-segments-empty",
        rows([[0] * 4, [-INF] * 4, [0, 1, 2, 3]], [[1] * 4] * 3, [some, [[0]] * 4, some]),
    )
    yield "a2-nan-in-an-empty-segment", rows([[0, -INF]], [[2, 1]], [[[2, -4], [NAN, NAN]]])
    yield (
        "a3-no-key-over-leftovers",
        rows([[0, 1], [99, 99]], [[1, 1], [99, 99]], [[[1], [3]], [[99], [99]]], lengths=[2, 0]),
    )
    yield (
        "a10-one-active-segment-beside-four",
        rows([[3, 9, 9, 9], [0] * 4], [[1] * 4] * 2, [[[1]] * 4] * 2, lengths=[1, 4]),
    )
    for dtype in ("float32", *NARROW):
        yield (
            f"a11-phantom-above{_in(dtype)}",
            rows([[0, -127]], [[0, 1]], [[[0], [3]]], out_dtype=dtype),
        )
    yield "w1-two-empty-segments", rows([[-INF, -INF]], [[1, 1]], [[[0], [0]]])
    yield "w2-phantom-200-above", rows([[0, -200]], [[0, 1]], [[[0], [3]]])
    yield "w3-nan-beside-no-mass", rows([[-INF, 0]], [[1, 1]], [[[NAN], [1]]])


def _statistics() -> Iterator[tuple[str, MergeCase]]:
    yield "a4-base-of-lse", rows([[10]], [[8]], [[[1]]])
    yield "a4-base-of-weights", rows([[1, 3]], [[1, 1]], [[[1], [0]]])
    # float32(20 / ln 2) and float32(20.05 / ln 2), as their bits say.
    far = [float.fromhex("0x1.cda994p+4"), float.fromhex("0x1.ced10ap+4")]
    for dtype in ("float32", "bfloat16"):
        yield f"a5-five-percent-apart{_in(dtype)}", rows([far], [[1, 1]], [[[1], [0]]], out_dtype=dtype)
    s = 2.0**-20 * (1 + 2.0**-10)
    yield "a13-log-cancels", rows([[20]], [[s]], [[[s]]])
    s = 2.0**20 * (1 + 2.0**-20)
    yield "w5-log-cancels-below-zero", rows([[-20]], [[s]], [[[s]]])
    s = 2.0**-126 * (1 + 2.0**-23)
    yield "w5-log-cancels-at-the-smallest", rows([[126]], [[s]], [[[s]]])


def _edges(fmt: Format) -> list[float]:
    """Return values about the largest of a format: below it, about the tie above it, far beyond."""
    ulp = 2.0 ** (fmt.emax - fmt.precision + 1)
    tie = fmt.max_value + ulp / 2
    near = ulp * 2.0**-10
    return [
        fmt.max_value - ulp / 4,
        tie - near,
        tie,
        tie + near,
        2 * fmt.max_value,
        -tie,
        -2 * fmt.max_value,
        NAN,
    ]


def _overflows() -> Iterator[tuple[str, MergeCase]]:
    yield (
        "a6-acceptance-e4m3fn",
        rows([[0]], [[1]], [[[447, 464, 465, 1000, -1000, NAN]]], out_dtype="float8_e4m3fn"),
    )
    for dtype in ("float16", *FLOAT8):
        values = _edges(FORMATS[dtype])
        yield f"a6-overflow{_in(dtype)}", rows([[0]], [[1]], [[values]], out_dtype=dtype)
    # Twice bfloat16's largest value is none of float32, so the mass is a half.
    halves = [value / 2 for value in _edges(FORMATS["bfloat16"])]
    yield "a6-overflow-bf16", rows([[0]], [[0.5]], [[halves]], out_dtype="bfloat16")
    for dtype in ("float32", "bfloat16"):
        yield (
            f"a14-numerator-beyond-float32{_in(dtype)}",
            rows([[0, 0]], [[1, 1]], [[[2e38], [2e38]]], out_dtype=dtype),
        )
    yield "a14-mass-beyond-float32", rows([[0] * 4], [[3e38] * 4], [[[0]] * 4])


def _shapes() -> Iterator[tuple[str, MergeCase]]:
    yield "a8-every-element-f32", ordinary(2, 3, 4, 5)
    yield "a8-every-element-e5m2", ordinary(2, 3, 4, 5, out_dtype="float8_e5m2")
    yield (
        "a15-longest-int32-length",
        rows([[0] * 128], [[1] * 128], [[[i] for i in range(128)]], lengths=[2**31 - 1], tile_size=128),
    )
    # Another number of active segments comes of a length that float32 rounds to a whole number of tiles.
    yield (
        "a15-length-beyond-float32",
        rows(
            [[0] * 128] * 2,
            [[1] * 128] * 2,
            [[[i] for i in range(128)]] * 2,
            lengths=[3 * 128 * 2**16, 3 * 128 * 2**16 + 1],
            tile_size=2**16,
        ),
    )
    # S tiles that are 2^32 keys, of which 32 bits leave none, and −4 of them.
    for name, tile_size in (("nothing", 2**30), ("below-zero", 2**31 - 1)):
        yield (
            f"a15-tiles-of-all-segments-wrap-to-{name}",
            rows(
                [[0] * 4] * 3,
                [[1] * 4] * 3,
                [[[1], [2], [3], [4]]] * 3,
                lengths=[3, 2**30, 2**31 - 1],
                tile_size=tile_size,
            ),
        )
    # Lengths to which nothing can be added, or from which nothing can be taken, in 64 bits.
    extreme = rows([[0] * 4] * 4, [[1] * 4] * 4, [[[1], [2], [3], [4]]] * 4, tile_size=16)
    lengths = torch.tensor([2**63 - 1, -(2**63), 2**63 - 16, 17])
    yield "a15-extreme-int64-lengths", replace(extreme, seq_lens=lengths)
    for tokens, heads in ((0, 3), (3, 0)):
        yield f"a15-t{tokens}-h{heads}", _nothing(tokens, heads)
    for heads, segments, rank in (
        (128, 3, 1),
        (65, 24, 1),
        (97, 3, 2),
        (1, 24, 80),
        (2, 65, 3),
        (1, 2, 448),
        (1, 130, 5),
        (1, 3, 576),
    ):
        yield f"a16-h{heads}-s{segments}-r{rank}", ordinary(1, heads, segments, rank)


def _nothing(tokens: int, heads: int) -> MergeCase:
    """Return a case without a row."""
    return MergeCase(
        segm_output=torch.zeros(tokens, heads, 4, 5),
        segm_max=torch.zeros(tokens, heads, 4),
        segm_expsum=torch.ones(tokens, heads, 4),
        seq_lens=torch.ones(tokens, dtype=torch.int32),
        tile_size=1,
        out_dtype="float32",
        domain=Domain.STRESS,
    )


def _specials() -> Iterator[tuple[str, MergeCase]]:
    yield "w7-masses-cancel", rows([[0, 0]], [[1, -1]], [[[1], [1]]])
    yield "w7-infinite-mass", rows([[0, 0]], [[INF, 1]], [[[1], [1]]])
    for dtype in NARROW:
        yield f"w7-masses-cancel{_in(dtype)}", rows([[0, 0]], [[1, -1]], [[[1], [1]]], out_dtype=dtype)
        # NaN stays NaN, an infinity is one or saturates, opposite ones are NaN.
        o = [[NAN, INF, -INF, INF, 1], [1, 1, 1, -INF, 1]]
        yield f"w9-nan-and-infinities{_in(dtype)}", rows([[0, 0]], [[1, 1]], [o], out_dtype=dtype)


def main(arguments: Sequence[str]) -> None:
    """Write every file into the folder named, or the corpus."""
    folder = Path(arguments[0]) if arguments else FOLDER
    for name, case in known():
        save_case(case, folder / f"{name}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1:])
