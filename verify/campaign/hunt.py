"""The hunt: mutants of the worst rows so far, climbing toward the bound and into cells not yet reached.

It goes in generations. All of one are chosen from the archive before any has come back, so that a run's
cases do not depend on which worker was faster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from fuzz.recipe import Recipe
from verify.campaign.archive import Archive, Cell
from verify.campaign.plan import Plan

GENERATION = 16
"""Cases chosen together."""

# Outputs of a case on a CPU; on a GPU the profile says. Elements of segm_output.
_OUTPUTS_CPU = 1 << 18
_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 27}
_HARD = 1 << 13  # values that the oracle's slow tiers decide in a fraction of a second
_UNSEEN = 1 << 16  # the most where it is not known how many are hard
_MOST_TOKENS = 1 << 11  # of production; what is left over goes to the heads


def generation(plan: Plan, archive: Archive, first: int) -> Iterator[tuple[str, Recipe]]:
    """Yield the names and recipes of a generation, whose first case is the hunt's number `first`."""
    for number in range(first, first + GENERATION):
        # Two of four climb, one starts where little was seen, and one makes many of what the oracle decides
        # fast. The step grows and shrinks in turn.
        strength = number // 4 % 4
        cell = (archive.worst, archive.rarest, archive.worst, partial(archive.easiest, strength))[
            number % 4
        ]()
        if cell is None:
            return
        name = f"hunt/{plan.seed}/{plan.shard}/{number}"
        hard, seen = archive.hard(cell, strength)
        most = plan.profile.hunted_outputs if plan.device == "cuda" else _OUTPUTS_CPU
        # A hard row may come from an easy case: what its mutants cost shows in the first of them.
        outputs = min(most, most if seen else _UNSEEN, int(_HARD / max(hard, 1e-9)))
        archive.hunting(name, cell, strength)
        yield name, _mutants(cell, plan.device, outputs, name, strength)


def _mutants(cell: Cell, device: str, outputs: int, name: str, strength: int) -> Recipe:
    """Return a recipe of about so many mutants of a cell's row."""
    parent = cell.parent
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    rank = parent.rank
    rows = max(1, min(outputs // rank, _ELEMENTS[device] // (rank * parent.segments)))
    tokens = min(rows, _MOST_TOKENS)
    return replace(
        parent,
        tokens=tokens,
        heads=max(1, rows // tokens),
        seed=seed,
        params={**parent.params, "strength": strength},
    )
