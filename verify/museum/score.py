"""From the kill matrix to a score: which faults were noticed, by what, and who raised a false alarm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from reports.markdown import table
from verify.museum.exhibit import DETECTORS, Exhibit, Piece, Sound
from verify.museum.matrix import Kills


@dataclass(frozen=True, kw_only=True)
class Score:
    """How the suite did in the museum."""

    killed: tuple[str, ...]
    """Faults that the detector noticed which they are there to test."""
    alive: tuple[str, ...]
    """Faults that it did not, whatever else spoke."""
    false_alarms: tuple[str, ...]
    """Sound kernels that something was said against."""
    accepted: tuple[str, ...]
    """Sound kernels that passed."""

    def passes(self, share: float = 1.0) -> bool:
        """Tell whether that share of the faults was noticed and every sound kernel let pass."""
        noticed = len(self.killed) >= share * (len(self.killed) + len(self.alive))
        return noticed and not self.false_alarms


def score(pieces: Mapping[str, Piece], matrix: Mapping[str, Kills], without: Collection[str] = ()) -> Score:
    """Count, as if the detectors `without` did not exist.

    A fault is noticed when the detector that it is there to test, the first of its label, has spoken.
    """
    parts: dict[str, list[str]] = {"killed": [], "alive": [], "false_alarms": [], "accepted": []}
    for name, kills in matrix.items():
        piece = pieces[name]
        said = [detector for detector in kills.first if detector not in without]
        if isinstance(piece, Exhibit):
            parts["killed" if piece.detectors[0] in said else "alive"].append(name)
        else:
            parts["false_alarms" if said else "accepted"].append(name)
    return Score(**{part: tuple(names) for part, names in parts.items()})


def lost_without(pieces: Mapping[str, Piece], matrix: Mapping[str, Kills]) -> dict[str, int]:
    """Return for each detector how many faults fewer would be noticed without it."""
    whole = len(score(pieces, matrix).killed)
    return {
        detector: whole - len(score(pieces, matrix, without=(detector,)).killed) for detector in DETECTORS
    }


def irreplaceable(pieces: Mapping[str, Piece], matrix: Mapping[str, Kills]) -> dict[str, int]:
    """Return for each detector how many faults no other detector of their labels spoke on."""
    alone = dict.fromkeys(DETECTORS, 0)
    for name, kills in matrix.items():
        piece = pieces[name]
        spoke = [
            detector for detector in kills.first if isinstance(piece, Exhibit) and detector in piece.detectors
        ]
        if len(spoke) == 1:
            alone[spoke[0]] += 1
    return alone


def to_markdown(pieces: Mapping[str, Piece], matrix: Mapping[str, Kills], not_run: Mapping[str, str]) -> str:
    """Write the kill matrix, what each detector is needed for, the sound kernels and what was not run."""
    faults = [
        (
            name,
            piece.wing.value,
            ", ".join(kills.first),
            _first(kills),
            f"{1e3 * kills.seconds:.0f}",
            piece.thread,
        )
        for name, kills in matrix.items()
        if isinstance(piece := pieces[name], Exhibit)
    ]
    kept = [
        (name, piece.bounds, str(kills.cases), ", ".join(kills.first) or "none")
        for name, kills in matrix.items()
        if isinstance(piece := pieces[name], Sound)
    ]
    alone, lost = irreplaceable(pieces, matrix), lost_without(pieces, matrix)
    spoke = {
        detector: sum(
            detector in kills.first for name, kills in matrix.items() if isinstance(pieces[name], Exhibit)
        )
        for detector in DETECTORS
    }
    parts = [
        "# The museum",
        "## Detectors",
        table(
            ("detector", "spoke on faults", "lost without it", "that nothing else spoke on"),
            [(d, str(spoke[d]), str(lost[d]), str(alone[d])) for d in DETECTORS],
        ),
        "## Sound kernels",
        table(("kernel", "bounds", "cases", "complaints"), kept),
        "## Faults",
        table(("fault", "class", "noticed by", "first in case", "ms until then", "recalls"), faults),
    ]
    if not_run:
        parts += ["## Not run", table(("fault", "for want of"), list(not_run.items()))]
    return "\n\n".join(parts) + "\n"


def _first(kills: Kills) -> str:
    return next(iter(kills.first.values()), "never")
