"""From a row of a case to a recipe of its mutants."""

from __future__ import annotations

import torch

from fuzz.case import MergeCase
from fuzz.families.mutants import FAMILY, MOST_SEGMENTS
from fuzz.float_codes import text_of
from fuzz.recipe import Recipe


def mutants_of(
    case: MergeCase,
    where: tuple[int, ...],
    *,
    seed: int,
    tokens: int,
    heads: int,
    rank: int,
    strength: int,
) -> Recipe:
    """Return a recipe of so many tokens, heads and columns around one row and column of a case.

    `where` is (token, head, column); what it does not name is 0. The recipe holds the values itself and has
    the dtype, S, tile and length of the case; the row is column 0 of its row 0. `strength` goes from 0, the
    last bits, to 3. Of more than 512 active segments the first 512 are kept, and the length is cut to them.
    """
    token, head, column = (*where, 0, 0, 0)[:3]
    length, active = int(case.seq_lens[token]), int(case.active[token])
    kept = min(active, MOST_SEGMENTS)
    if kept < active:
        length = kept * case.tile_size
    return Recipe(
        family=FAMILY.name,
        dtype=case.out_dtype,
        tokens=tokens,
        heads=heads,
        segments=case.S,
        rank=rank,
        tile_size=case.tile_size,
        seed=seed,
        params={
            "length": length,
            "wide": case.seq_lens.dtype == torch.int64,
            "m": text_of(case.segm_max[token, head, :kept]),
            "s": text_of(case.segm_expsum[token, head, :kept]),
            "o": text_of(case.segm_output[token, head, :kept, column]),
            "strength": strength,
        },
    )
