"""All probes, in the order of a passport."""

from __future__ import annotations

from verify.env import accuracy, casts, contraction, ends, integers, order, special, subnormals
from verify.env.probe import Probe

PROBES: dict[str, Probe] = {
    probe.name: probe
    for module in (subnormals, contraction, accuracy, order, casts, ends, special, integers)
    for probe in module.PROBES
}
"""Every probe by its name."""
