"""Choose block sizes by shape. No choice made here changes a bit of any result."""

from dataclasses import dataclass

import triton

# Triton refuses blocks of more elements than this.
MAX_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a launch divides the work; the block sizes are powers of two."""

    block_rows: int
    """Rows (one token and head each) that a program merges."""
    block_r: int
    """Columns of the latent rank that a program merges."""
    block_s: int
    """Segments whose statistics are looked at together for the maximum."""
    num_warps: int
    """Warps of a program, on a device."""
    programs: int
    """Programs in the one-dimensional grid; the blocks of R are the fastest index."""


def _up(n: int) -> int:
    """Give the smallest power of two that is at least n ≥ 1."""
    return 1 << (n - 1).bit_length()


def plan(rows: int, segments: int, rank: int, *, interpreted: bool) -> Plan:
    """Plan a merge of rows ≥ 1 rows of segments × rank partials.

    The interpreter pays about 9 ms a program whatever its width, so there a program takes as many rows
    as caches bear; on a device one row, or as many as give its threads an element each.
    """
    block_s = min(_up(segments), 128)
    if interpreted:
        block_r = min(_up(rank), 1024)
        block_rows = max(1, min((1 << 17) // block_r, MAX_BLOCK // block_s, _up(rows)))
    else:
        block_r = min(_up(rank), 1024)
        block_rows = max(1, 128 // block_r)
    programs = triton.cdiv(rows, block_rows) * triton.cdiv(rank, block_r)
    return Plan(block_rows=block_rows, block_r=block_r, block_s=block_s, num_warps=4, programs=programs)
