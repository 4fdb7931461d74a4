"""In what form a kernel wants its inputs and gives its results; the mathematics is the same for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from verify.oracle.target import Base

_INF = math.inf


class Lengths(StrEnum):
    """Whom a length belongs to."""

    TOKEN = "token"
    """L [T]: every token has its own."""
    SEQUENCE = "sequence"
    """L [B], and where each begins [B + 1]: adjacent tokens of one length are a sequence here."""
    NONE = "none"
    """There are no lengths: every segment was written, and one that holds nothing bears a marker."""


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The declared form of a merge.

    Axes are written as letters in the order in which the kernel has them, t tokens, h heads, s segments,
    r rank, and 1 for an axis of one element.
    """

    name: str
    """As `--convention` takes it."""
    of: str
    """Whose it is, for people."""
    parameters: Mapping[str, str]
    """What each parameter of the kernel is, in their order; one that ends in = is passed by its name.

    Inputs: `o`, `m` and `s`, or `l`, the lse of each segment in the place of both; `o_a`, `l_a`, `o_b`, `l_b`
    for the two segments of a merge of two; `lengths`; `starts`, the first token of each sequence; `tile` and
    `dtype`. `output` and `lse` are results that the kernel is handed to fill; the others it returns.
    """
    partials: str
    """Axes of o; no s in a merge of two."""
    statistics: str
    """Axes of m and s, or of l."""
    stored: str = ""
    """Order of the axes of the statistics in memory, where it is another."""
    output: str = "thr"
    """Axes of the output."""
    lse: str = "th"
    """Axes of the lse, where there is one."""
    base: Base = Base.TWO
    """Base of the statistics: a segment has the mass s · base^m, or base^l."""
    lse_base: Base | None = Base.E
    """Base of the lse; None for a kernel that gives none."""
    lengths: Lengths = Lengths.NONE
    """Whom a length belongs to."""
    narrow: bool = False
    """Whether partials come in the dtype of the output; in float32 otherwise."""
    empty: tuple[float, ...] = (-_INF,)
    """What l may hold in a segment without mass: −inf, and +inf or NaN in some conventions.

    This is the policy of NaN as well: where NaN is not among these, a NaN is a fault of the producer that
    must be seen in the result.
    """
    massless_output: tuple[float, ...] = (0.0,)
    """What the output may hold in a row without mass."""
    massless_lse: tuple[float, ...] = (-_INF,)
    """What the lse may hold there."""

    @property
    def normalised(self) -> bool:
        """Whether each partial is divided by its mass, which is told by l alone."""
        return not {"m", "s"} <= set(self.parameters.values())

    @property
    def pair(self) -> bool:
        """Whether it merges two segments, no more and no fewer."""
        return "s" not in self.partials

    @property
    def fills(self) -> bool:
        """Whether the kernel is handed its results."""
        return "output" in self.parameters.values()

    @property
    def silent_laws(self) -> frozenset[str]:
        """Laws of which nothing can be said: their algebra is of base two, or of cases it cannot express."""
        silent = set()
        if self.lse_base is not None and (self.base, self.lse_base) != (Base.TWO, Base.E):
            silent |= {"shift", "mass", "single"}  # they know what ln of the mass becomes
        if self.base is not Base.TWO:
            silent.add("shift")
        if self.normalised:
            silent.add("mass")  # of a mass that is written apart from the maximum
        if self.narrow:
            silent.add("scale")  # by powers of two that the partials' dtype has no room for
        return frozenset(silent)


SEGMENTS = Convention(
    name="segments",
    of="the segmented merge of this project",
    parameters=MappingProxyType(
        {
            "segm_output": "o",
            "segm_max": "m",
            "segm_expsum": "s",
            "seq_lens": "lengths",
            "tile_size": "tile",
            "out_dtype": "dtype",
        }
    ),
    partials="thsr",
    statistics="ths",
    lengths=Lengths.TOKEN,
)
"""The convention of the contract, which all others are told by."""
