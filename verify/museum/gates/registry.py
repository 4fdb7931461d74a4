"""The register of the gates."""

from __future__ import annotations

from verify.museum.gates.cascade import CASCADE
from verify.museum.gates.combine import COMBINE
from verify.museum.gates.gate import Gate
from verify.museum.gates.reduce import REDUCE
from verify.museum.gates.unit import UNIT

GATES: dict[str, Gate] = {gate.name: gate for gate in (UNIT, REDUCE, COMBINE, CASCADE)}
"""Every gate, by name."""
