"""What the gates noticed, beside what this suite did, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.markdown import table
from verify.museum.exhibit import Exhibit, Piece, Wing
from verify.museum.gates.registry import GATES
from verify.museum.gates.run import Complaints
from verify.museum.score import Score


def noticed_by(complaints: Complaints, gate: str) -> frozenset[str]:
    """Return the pieces that a gate has something against."""
    return frozenset(name for name, said in complaints.items() if said[gate])


def to_markdown(pieces: Mapping[str, Piece], complaints: Complaints, suite: Score) -> str:
    """Write what each gate, the four together and this suite noticed."""
    faults = {name: piece for name in complaints if isinstance(piece := pieces[name], Exhibit)}
    sound = [name for name in complaints if name not in faults]
    by_gate = {gate: noticed_by(complaints, gate) for gate in GATES}
    together = frozenset().union(*by_gate.values())
    columns = {**by_gate, "the four": together, "this suite": frozenset((*suite.killed, *suite.false_alarms))}
    return (
        "\n\n".join(
            (
                "# The public gates in the museum",
                "## Gates",
                table(
                    ("gate", "inputs", "allows", "faults noticed", "share", "sound kernels rejected"),
                    [
                        (
                            *(name, _inputs(name), _tolerance(name)),
                            *(f"{len(seen & faults.keys())} of {len(faults)}", _share(seen, faults)),
                            ", ".join(kernel for kernel in sound if kernel in seen) or "none",
                        )
                        for name, seen in columns.items()
                    ],
                ),
                "## By class",
                table(("class", "faults", *columns), _by_class(faults, columns)),
                "## Fault by fault",
                table(
                    ("fault", *columns, "first complaint of a gate"),
                    [
                        (
                            name,
                            *("yes" if name in seen else "" for seen in columns.values()),
                            next(filter(None, complaints[name].values()), ""),
                        )
                        for name in faults
                    ],
                ),
            )
        )
        + "\n"
    )


def summary(pieces: Mapping[str, Piece], complaints: Complaints) -> str:
    """Say in a line what each gate and all of them together noticed."""
    faults = {name for name in complaints if isinstance(pieces[name], Exhibit)}
    by_gate = {gate: noticed_by(complaints, gate) & faults for gate in GATES}
    together = len(frozenset().union(*by_gate.values()))
    counts = ", ".join(f"{gate} {len(seen)}" for gate, seen in by_gate.items())
    return f"gates {counts}, together {together} of {len(faults)} faults"


def _by_class(
    faults: Mapping[str, Exhibit], columns: Mapping[str, frozenset[str]]
) -> Sequence[Sequence[str]]:
    rows = []
    for wing in Wing:
        here = {name for name, exhibit in faults.items() if exhibit.wing is wing}
        if here:
            rows.append((wing.value, str(len(here)), *(str(len(seen & here)) for seen in columns.values())))
    total = (str(len(seen & faults.keys())) for seen in columns.values())
    return [*rows, ("all", str(len(faults)), *total)]


def _inputs(name: str) -> str:
    return GATES[name].inputs if name in GATES else ""


def _tolerance(name: str) -> str:
    return GATES[name].tolerance if name in GATES else ""


def _share(seen: frozenset[str], faults: Mapping[str, Exhibit]) -> str:
    return f"{len(seen & faults.keys()) / len(faults):.0%}" if faults else ""
