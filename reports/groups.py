"""The findings of shards as one run would have reported them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from reports.records import Finding
from reports.strata import case_order


def combine_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge findings group by group, the most frequent first; the order in which they come does not matter.

    A run shrinks the first case of each group, and so did the shard that holds it: of a group that several
    shards met, the finding with the first case is kept and the cases are added. Groups whose kept findings
    have one id become one finding, as in a single run. ValueError when a finding does not name its groups.
    """
    met: dict[str, list[tuple[dict[str, Any], Finding]]] = {}
    for finding in findings:
        if sum(group["cases"] for group in finding.groups) != finding.similar:
            raise ValueError(f"finding {finding.id} does not say which groups of faults shrank to it")
        for group in finding.groups:
            met.setdefault(group["group"], []).append((group, finding))
    whole = []
    for showings in met.values():
        group, finding = min(showings, key=lambda showing: _age(showing[0]))
        whole.append(_of_group(finding, {**group, "cases": sum(other["cases"] for other, _ in showings)}))
    whole.sort(key=lambda finding: (-finding.similar, _age(finding.groups[0])))
    found: dict[str, Finding] = {}
    for finding in whole:
        known = found.get(finding.id)
        found[finding.id] = finding if known is None else _both(known, finding)
    return tuple(sorted(found.values(), key=lambda finding: -finding.similar))


def _both(known: Finding, other: Finding) -> Finding:
    return replace(known, similar=known.similar + other.similar, groups=known.groups + other.groups)


def _age(group: dict[str, Any]) -> tuple[object, ...]:
    return (group["first"], case_order(group["case"]), group["group"])


def _of_group(finding: Finding, group: dict[str, Any]) -> Finding:
    """Return the finding as it would be if no other group had shrunk to its case."""
    own = finding if finding.case == group["case"] else replace(finding, case=group["case"], recipe=None)
    return replace(own, family=group["group"].rpartition("/")[2], similar=group["cases"], groups=(group,))
