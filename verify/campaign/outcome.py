"""What one case showed: plain data that crosses a process boundary and lies in the journal."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz.recipe import Recipe
from reports.regimes import Regime
from reports.strata import Stratum
from verify.observed import Fault


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The worst row of a case in one behaviour cell."""

    cell: str
    """Name of the cell, see cells.py."""
    margin: float
    """|error| / bound of the row's worst value."""
    misrounded: bool
    """Whether that is not the correctly rounded value: an error that no rounding has to make."""
    parent: Recipe | None
    """The row as a recipe, for mutants to come from; None where the worker has told of a worse one."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one case showed."""

    case: str
    """The case as verify.replay takes it: SEED/NUMBER or a file."""
    family: str
    """Family under which the case is counted."""
    dtype: str
    """Output dtype of the case."""
    outputs: int = 0
    """Output values judged, T·H·R; 0 when the call gave nothing to judge."""
    faults: tuple[Fault, ...] = ()
    """At most one per kind and result, and those of the laws."""
    strata: tuple[Stratum, ...] = ()
    """The measured errors of output and lse."""
    regimes: tuple[Regime, ...] = ()
    """The same by number of segments and conditioning."""
    values: int = 0
    """Values of output and lse that the oracle was asked for."""
    tiers: dict[str, int] = field(default_factory=dict)
    """Values that each tier of the oracle decided."""
    bits: int = 0
    """Most bits the oracle used."""
    unsupported: str = ""
    """Why the kernel was not called: what it does not declare to support; empty when it was."""
    out_of_domain: dict[str, int] = field(default_factory=dict)
    """Rows that the bounds do not speak of, by reason."""
    laws: dict[str, int] = field(default_factory=dict)
    """Rows on which each law was checked."""
    cells: tuple[Reached, ...] = ()
    """The behaviour cells that the case's rows fell into."""
    compile_s: float = 0.0
    """Seconds that Triton compiled meanwhile."""
    keeps_fp32: bool | None = None
    """Whether a call that failed is within the float32 bounds; None where that was not asked."""

    @property
    def lost_process(self) -> bool:
        """Whether the process that ran the case cannot run another."""
        return any(fault.lost_process for fault in self.faults)
