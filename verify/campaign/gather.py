"""What a run has seen so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reports.regimes import Regime, RegimeKey
from reports.strata import Stratum, StratumKey
from verify.campaign.archive import Archive
from verify.campaign.findings import Groups
from verify.campaign.jobs import Job, Stream
from verify.campaign.outcome import Outcome


@dataclass(kw_only=True)
class Gathered:
    """The sums, maxima and groups of a run, case by case in the order of the schedule."""

    cases: int = 0
    """Cases that came back and that the kernel supports."""
    failed: int = 0
    """Of them, those with a fault."""
    arithmetic: int = 0
    """Of those, the ones that fail in value alone and keep the float32 bounds."""
    outputs: int = 0
    """Output values, T·H·R of every case that returned any."""
    asked: int = 0
    """Values of output and lse that the oracle was asked for."""
    values: int = 0
    """Of them, those that the bounds speak of: they were judged."""
    values_failed: int = 0
    """Of them, those outside their bound."""
    compile_s: float = 0.0
    """Seconds that Triton compiled, of all processes."""
    bits: int = 0
    """Most bits the oracle used."""
    tiers: Counter[str] = field(default_factory=Counter)
    """Values that each tier of the oracle decided."""
    streams: Counter[str] = field(default_factory=Counter)
    """Cases of each stream."""
    unsupported: Counter[str] = field(default_factory=Counter)
    """Cases that the kernel does not declare to support, by reason."""
    out_of_domain: Counter[str] = field(default_factory=Counter)
    """Rows that the bounds do not speak of, by reason."""
    laws: dict[str, Counter[str]] = field(default_factory=dict)
    """`cases` and `rows` on which each law was checked."""
    strata: dict[StratumKey, Stratum] = field(default_factory=dict)
    """The errors so far."""
    regimes: dict[RegimeKey, Regime] = field(default_factory=dict)
    """The same by number of segments and conditioning."""
    coverage: Counter[str] = field(default_factory=Counter)
    """Cases of each "family dtype"."""
    discovery: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """Of the drawn stream and the hunt: each case that came nearer to its bound than all before it."""
    archive: Archive = field(default_factory=Archive)
    """The behaviour cells reached."""
    faults: Groups = field(default_factory=Groups)
    """The faults so far."""

    def add(self, outcome: Outcome, job: Job) -> None:
        """Count one case."""
        if outcome.unsupported:
            self.unsupported[outcome.unsupported] += 1
            return
        self.cases += 1
        self.failed += bool(outcome.faults)
        self.arithmetic += bool(outcome.keeps_fp32)
        self.outputs += outcome.outputs
        self.compile_s += outcome.compile_s
        self.bits = max(self.bits, outcome.bits)
        self.asked += outcome.values
        self.tiers.update(outcome.tiers)
        self.out_of_domain.update(outcome.out_of_domain)
        for law, rows in outcome.laws.items():
            self.laws.setdefault(law, Counter()).update(cases=1, rows=rows)
        for stratum in outcome.strata:
            self.values += stratum.outputs
            self.values_failed += stratum.failed
            known = self.strata.get(stratum.key)
            self.strata[stratum.key] = stratum if known is None else known.merged(stratum)
        for regime in outcome.regimes:
            before = self.regimes.get(regime.key)
            self.regimes[regime.key] = regime if before is None else before.merged(regime)
        self.coverage[f"{outcome.family} {outcome.dtype}"] += 1
        if job.stream is not None:
            self.streams[job.stream.value] += 1
            self._discover(job.stream, outcome)
        self.archive.add(outcome)
        self.faults.add(outcome, job)

    def _discover(self, stream: Stream, outcome: Outcome) -> None:
        if stream is Stream.CORPUS:
            return
        curve = self.discovery.setdefault(stream.value, [])
        margin = max((stratum.margin for stratum in outcome.strata), default=0.0)
        if not curve or margin > curve[-1][1]:
            curve.append((int(outcome.case.rpartition("/")[2]), margin))
