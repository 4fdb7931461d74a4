"""Every family of inputs, in the order in which numbers go round them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fuzz.families import (
    bit_patterns,
    cancellation,
    constant,
    empties,
    huge_ranges,
    layouts,
    neg_inf,
    odd_shapes,
    overflow,
    poisoned_tail,
    producer,
    seq_lens,
    specials,
    subnormals,
    ties,
    unit_mass,
)
from fuzz.family import Family

FAMILIES: Final[Mapping[str, Family]] = {
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
    )
}
"""The families by name; a new one is imported and listed here."""
