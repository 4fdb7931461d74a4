"""Every family of inputs; those that are drawn in the order in which numbers go round them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fuzz.families import (
    bit_patterns,
    cancellation,
    clamped,
    constant,
    empties,
    huge_ranges,
    layouts,
    lofty,
    neg_inf,
    odd_shapes,
    overflow,
    poisoned_tail,
    producer,
    seq_lens,
    specials,
    subnormals,
    swamped,
    ties,
    unit_mass,
)
from fuzz.families.mutants import FAMILY as MUTANTS
from fuzz.family import Family

DRAWN: Final[Mapping[str, Family]] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        producer,
        empties,
        huge_ranges,
        seq_lens,
        neg_inf,
        cancellation,
        subnormals,
        overflow,
        ties,
        poisoned_tail,
        specials,
        layouts,
        odd_shapes,
        bit_patterns,
        unit_mass,
        constant,
        clamped,
        swamped,
        lofty,
    )
}
"""The families that the drawn stream goes round, by name; a new one is listed here, at the end."""

FAMILIES: Final[Mapping[str, Family]] = {**DRAWN, MUTANTS.name: MUTANTS}
"""All families: those that are drawn, and that of the hunt, whose recipes come from cases it has met."""
