"""An outcome as plain data, for the line of a journal, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from fuzz.recipe import Recipe
from reports.regimes import Regime, RegimeKey
from reports.strata import EDGES, Stratum, StratumKey
from verify.campaign.outcome import Outcome, Reached
from verify.observed import Fault, FaultKind


def record_of(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain data, leaving out what is as it is by default."""
    default = Outcome(case="", family="", dtype="")
    plain: dict[str, Any] = {
        item.name: getattr(outcome, item.name)
        for item in fields(outcome)
        if getattr(outcome, item.name) != getattr(default, item.name)
    }
    if outcome.faults:
        plain["faults"] = [_fault_record(fault) for fault in outcome.faults]
    if outcome.strata:
        plain["strata"] = [_stratum_record(stratum) for stratum in outcome.strata]
    if outcome.regimes:
        plain["regimes"] = [_regime_record(regime) for regime in outcome.regimes]
    if outcome.cells:
        plain["cells"] = [
            [r.cell, r.margin, r.misrounded, r.parent.to_record() if r.parent else None]
            for r in outcome.cells
        ]
    return plain


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Read what `record_of` wrote."""
    plain = {name: value for name, value in record.items() if name != "recipe"}
    plain["faults"] = tuple(_fault_of(item) for item in plain.get("faults", ()))
    plain["strata"] = tuple(_stratum_of(item) for item in plain.get("strata", ()))
    plain["regimes"] = tuple(_regime_of(item) for item in plain.get("regimes", ()))
    plain["cells"] = tuple(
        Reached(
            cell=cell,
            margin=margin,
            misrounded=misrounded,
            parent=Recipe.from_record(parent) if parent is not None else None,
        )
        for cell, margin, misrounded, parent in plain.get("cells", ())
    )
    return Outcome(**plain)


def _stratum_record(stratum: Stratum) -> dict[str, Any]:
    record = {item.name: getattr(stratum, item.name) for item in fields(stratum)}
    counts = {str(bin_): count for bin_, count in enumerate(stratum.counts) if count}
    return {**record, "key": list(stratum.key), "counts": counts}


def _stratum_of(record: Mapping[str, Any]) -> Stratum:
    counts = tuple(int(record["counts"].get(str(bin_), 0)) for bin_ in range(len(EDGES) - 1))
    return Stratum(**{**record, "key": StratumKey(*record["key"]), "counts": counts})


def _regime_record(regime: Regime) -> list[Any]:
    return [*regime.key, *(getattr(regime, item.name) for item in fields(regime) if item.name != "key")]


def _regime_of(record: list[Any]) -> Regime:
    key, rest = record[: len(RegimeKey._fields)], record[len(RegimeKey._fields) :]
    names = (item.name for item in fields(Regime) if item.name != "key")
    return Regime(key=RegimeKey(*key), **dict(zip(names, rest, strict=True)))


_FLOATS = ("got", "exact", "ulp", "bound")


def _fault_record(fault: Fault) -> dict[str, Any]:
    # JSON has no NaN and no infinity: floats are written as C99 hexadecimal, which loses nothing.
    record = {name: value for name, value in asdict(fault).items() if value is not None}
    return {name: value.hex() if name in _FLOATS else value for name, value in record.items()}


def _fault_of(record: Mapping[str, Any]) -> Fault:
    plain: dict[str, Any] = {
        name: float.fromhex(value) if name in _FLOATS else value for name, value in record.items()
    }
    plain["kind"] = FaultKind(plain["kind"])
    if "where" in plain:
        plain["where"] = tuple(plain["where"])
    return Fault(**plain)
