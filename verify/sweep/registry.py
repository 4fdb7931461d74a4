"""All probes by name, in the order in which they run."""

from __future__ import annotations

from verify.sweep.exponential import Exponential
from verify.sweep.lengths import Partition
from verify.sweep.probe import Probe
from verify.sweep.single import Cancel, CancelBetween, Cast, Log, Reciprocal, Scale, Third

PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        Partition(),
        Log(),
        Scale(),
        Cancel(),
        CancelBetween(),
        Cast(),
        Third(),
        Reciprocal(),
        Exponential(),
    )
}
