"""Choose by shape how a launch divides the work. No choice made here changes a bit of any result.

The regimes and the measurements that chose them; the README says why each wins where it does.
"""

from dataclasses import dataclass

import triton

# The most segments whose statistics a program surveys at once.
MAX_BLOCK_S = 128
# Elements of float32 that a thread loads at once, where the layout allows it.
VECTOR = 4
# Triton refuses blocks of more elements than this.
MAX_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Regime:
    """A way to merge a row on a device; a program is one warp."""

    block_r: int
    """Columns of the latent rank that a program merges."""
    step: int
    """Segments whose loads are started together."""
    whole: bool = False
    """Whether a step takes all S segments (S ≤ step), so that there is no loop; eager as well."""
    eager: bool
    """Whether the first loads are started before the number of active segments is known."""
    prefetch: bool
    """Whether the next loads are started before the segments at hand are added."""
    evict: str
    """Cache policy of the partials: `evict_first`, or empty for the ordinary one."""


# Many rows: one program a row, so that its statistics serve most columns.
STREAM = Regime(block_r=512, step=2, eager=False, prefetch=True, evict="")
# The same with few segments: the first loads wait for nothing.
EAGER_STREAM = Regime(block_r=512, step=2, eager=True, prefetch=True, evict="")
# In between: two programs a row, with few registers, so that more of them are resident.
HALVES = Regime(block_r=256, step=4, eager=False, prefetch=False, evict="evict_first")
# The same, more loads at once, where all of a row fits in two steps.
DEEP_HALVES = Regime(block_r=256, step=8, eager=False, prefetch=True, evict="evict_first")
# Few rows: many programs a row, and no load waits for another.
QUARTERS = Regime(block_r=128, step=8, eager=True, prefetch=True, evict="")
SLICES = Regime(block_r=64, step=8, eager=True, prefetch=True, evict="")
LONG_SLICES = Regime(block_r=64, step=32, eager=True, prefetch=True, evict="")
# The same without a loop, for up to 16, 32, 64 and 64 segments.
WHOLE_16 = Regime(block_r=128, step=16, whole=True, eager=True, prefetch=False, evict="")
WHOLE_32 = Regime(block_r=64, step=32, whole=True, eager=True, prefetch=False, evict="")
WHOLE_64 = Regime(block_r=64, step=64, whole=True, eager=True, prefetch=False, evict="")
STRIPS = Regime(block_r=32, step=64, whole=True, eager=True, prefetch=False, evict="")

ANY = 1 << 62
# (rows below which, S up to which, regime), the first that fits; STREAM when none does. Beside each what
# chose it: T, H, S, active, and the warm µs of it and of the next best, on an H200 (bfloat16, R = 512).
TABLE = (
    (64, 32, WHOLE_32),
    (64, 64, STRIPS),  # 1, 16, 64, 64: 3.3, LONG_SLICES 3.9
    (256, 32, WHOLE_32),  # 8, 16, 32, 32: 3.6, SLICES 4.1
    (256, 64, WHOLE_64),  # 1, 128, 64, 64: 4.9, SLICES 5.6
    (256, 128, LONG_SLICES),  # 1, 96, 128, 128: 8.2, step 16 8.7
    (1024, 16, WHOLE_16),  # 32, 16, 16, 16: 5.0, half as wide 5.8; within the noise of QUARTERS
    (1024, 128, QUARTERS),  # 8, 64, 32, 32: 6.8, WHOLE_32 by two warps 9.7
    (2048, 128, HALVES),  # 8, 128, 64, 63: 34.7, STREAM 41
    (4096, 128, STREAM),  # 24, 96, 128, 7: 9.0, HALVES 12.7
    (16384, 16, DEEP_HALVES),  # 32, 128, 16, 16: 33.7, HALVES 35.3
    (16384, 128, HALVES),  # 64, 128, 32, 19: 77.3, STREAM 85.8; 64, 128, 64, 7: 33.3, STREAM 38
    (ANY, 8, EAGER_STREAM),  # 1000, 96, 8, 5: 253.2, STREAM 258.7, HALVES 331.7
    (ANY, 16, DEEP_HALVES),  # 128, 128, 16, 16: 130.3, STREAM 133
    # STREAM: 256, 128, 32, 32: 497, HALVES 516
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a launch divides the work; the block sizes are powers of two."""

    rows: int
    """Rows (one token and head each) that a program merges; more than one in the interpreter alone."""
    unit: int
    """Elements that strides and columns are counted in: what a thread loads at once."""
    block_s: int
    """Segments whose statistics are surveyed together: 32, 64 or 128."""
    regime: Regime
    """How each row is merged."""
    spread: bool
    """Whether weights are handed to every column of a block, as a warp of threads needs them."""
    grid: tuple[int, int]
    """Programs over rows, and over the columns of a row."""

    @property
    def vector(self) -> int:
        """Neighbouring columns that one lane holds."""
        columns = self.regime.block_r
        return min(self.unit, columns // 32) if self.spread else columns


def _up(n: int) -> int:
    """Give the smallest power of two that is at least n ≥ 1."""
    return 1 << (n - 1).bit_length()


def regime_for(rows: int, segments: int, rank: int, *, aligned: bool) -> Regime:
    """Choose the regime of a merge of rows ≥ 1 rows on a device.

    aligned: whether R is contiguous and can be read 16 bytes at a time.
    """
    if not aligned or segments > MAX_BLOCK_S:
        return HALVES
    if rank <= 64:
        return SLICES
    for row_limit, segment_limit, regime in TABLE:
        if rows < row_limit and segments <= segment_limit:
            return regime
    return STREAM


def surveyed(segments: int, regime: Regime) -> int:
    """Choose how many statistics are surveyed together; few sizes, as each is compiled anew."""
    if regime.whole:
        return max(32, regime.step)
    if segments <= 32:
        return 32
    return 64 if regime.eager and segments <= 64 else MAX_BLOCK_S


def plan(rows: int, segments: int, rank: int, *, aligned: bool, interpreted: bool) -> Plan:
    """Plan a merge of rows ≥ 1 rows of segments × rank partials.

    The interpreter pays about 9 ms a program whatever its width, so there a program takes as many rows
    as caches bear.
    """
    if interpreted:
        block_r = min(_up(rank), 1024)
        regime = Regime(block_r=block_r, step=1, eager=False, prefetch=False, evict="")
        block_rows = max(1, min((1 << 17) // block_r, MAX_BLOCK // MAX_BLOCK_S, _up(rows)))
    else:
        regime = regime_for(rows, segments, rank, aligned=aligned)
        block_rows = 1
    grid = (triton.cdiv(rows, block_rows), triton.cdiv(rank, regime.block_r))
    return Plan(
        rows=block_rows,
        unit=VECTOR if aligned else 1,
        block_s=surveyed(segments, regime),
        regime=regime,
        spread=not interpreted,
        grid=grid,
    )
