"""What a run has seen so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz.recipe import Recipe
from reports.strata import Stratum, StratumKey
from verify.campaign.findings import Groups
from verify.campaign.trial import Outcome


@dataclass(kw_only=True)
class Gathered:
    """The sums, maxima and groups of a run, case by case."""

    cases: int = 0
    """Cases that came back."""
    failed: int = 0
    """Of them, those with a fault."""
    outputs: int = 0
    """Output values, T·H·R of every case that returned any."""
    values: int = 0
    """Values of output and lse that were judged."""
    values_failed: int = 0
    """Of them, those outside their bound."""
    tiers: dict[str, int] = field(default_factory=dict)
    """Values that each tier of the oracle decided."""
    bits: int = 0
    """Most bits the oracle used."""
    strata: dict[StratumKey, Stratum] = field(default_factory=dict)
    """The errors so far."""
    coverage: dict[str, int] = field(default_factory=dict)
    """Cases of each "family dtype"."""
    faults: Groups = field(default_factory=Groups)
    """The faults so far."""

    def add(self, outcome: Outcome, recipe: Recipe) -> None:
        """Count one case."""
        self.cases += 1
        self.failed += bool(outcome.faults)
        self.outputs += outcome.outputs
        self.bits = max(self.bits, outcome.bits)
        for tier, count in outcome.tiers.items():
            self.tiers[tier] = self.tiers.get(tier, 0) + count
        for stratum in outcome.strata:
            self.values += stratum.outputs
            self.values_failed += stratum.failed
            known = self.strata.get(stratum.key)
            self.strata[stratum.key] = stratum if known is None else known.merged(stratum)
        reached = f"{outcome.family} {outcome.dtype}"
        self.coverage[reached] = self.coverage.get(reached, 0) + 1
        self.faults.add(outcome, recipe)
