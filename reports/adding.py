"""How the parts of several shards' reports add up, exactly and in any order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from reports.regimes import Regime, RegimeKey
from reports.strata import Stratum, StratumKey


def added(name: str, values: Sequence[Any]) -> Any:
    """Add numbers, and dictionaries entry by entry; what one does not know (None), the sum does not."""
    if all(isinstance(value, dict) for value in values):
        names = sorted({key for value in values for key in value})
        return {
            key: added(f"{name}.{key}", [value[key] for value in values if key in value]) for key in names
        }
    if any(value is None for value in values):
        return None
    if not all(isinstance(value, int | float) for value in values):
        raise ValueError(f"{name} cannot be added up")
    # Floats are seconds, written with three places: their sum must not depend on the order either.
    return sum(values) if all(isinstance(value, int) for value in values) else round(math.fsum(values), 3)


def joined(values: Sequence[Any]) -> Any:
    """Return what all say, or all that they say."""
    if all(value == values[0] for value in values):
        return values[0]
    if all(isinstance(value, dict) for value in values):
        names = sorted({name for value in values for name in value})
        return {name: joined([value[name] for value in values if name in value]) for name in names}
    said = {word for value in values for word in str(value).split(" / ")}
    return " / ".join(sorted(said))


def strata_of(strata: Iterable[Stratum]) -> tuple[Stratum, ...]:
    """Return one stratum for each key, the worst margin first."""
    whole: dict[StratumKey, Stratum] = {}
    for stratum in strata:
        known = whole.get(stratum.key)
        whole[stratum.key] = stratum if known is None else known.merged(stratum)
    return tuple(sorted(whole.values(), key=lambda stratum: (-stratum.margin, stratum.key)))


def regimes_of(regimes: Iterable[Regime]) -> tuple[Regime, ...]:
    """Return one regime for each key, in their order."""
    whole: dict[RegimeKey, Regime] = {}
    for regime in regimes:
        known = whole.get(regime.key)
        whole[regime.key] = regime if known is None else known.merged(regime)
    return tuple(whole[key] for key in sorted(whole))


def coverage_of(coverages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what was visited in all, and the curves of discovery as one."""
    whole: dict[str, Any] = {}
    for name in dict.fromkeys(name for coverage in coverages for name in coverage):
        values = [coverage[name] for coverage in coverages if name in coverage]
        whole[name] = _curve(values) if name.endswith("discovery") else added(f"coverage.{name}", values)
    return whole


def _curve(curves: Sequence[Sequence[tuple[int, float]]]) -> list[list[float]]:
    """Return the records of all curves together: whatever is one in the whole is one in its shard."""
    rising: list[list[float]] = []
    points = ((number, float(margin)) for curve in curves for number, margin in curve)
    for number, margin in sorted(points, key=lambda point: (point[0], -point[1])):
        if not rising or margin > rising[-1][1]:
            rising.append([number, margin])
    return rising
