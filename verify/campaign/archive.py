"""The archive of the hunt: the worst row met in every behaviour cell, and how often each cell was visited."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz.recipe import Recipe
from verify.campaign.outcome import Outcome

_EASY = 1e-4  # a share of hard values that does not count
_COMPARISON = 1 / 8  # of what the exact tier takes for a value, the comparing one takes so much


@dataclass(kw_only=True)
class Cell:
    """One behaviour cell that was reached."""

    margin: float
    """|error| / bound of its worst row."""
    misrounded: bool
    """Whether that row's worst value is not the correctly rounded one."""
    parent: Recipe
    """That row."""
    hard: dict[int, float] = field(default_factory=dict)
    """Share of values that only the oracle's slow tiers decide, among its mutants of each strength so far."""
    visits: int = 1
    """Cases that reached the cell."""
    chosen: int = 0
    """Times that mutants were made of its row."""


class Archive:
    """Cells by name; fed in the order of the cases, so that the same run has the same archive."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self._hunted: dict[str, tuple[Cell, int]] = {}
        self._hard: dict[int, tuple[float, int]] = {}

    def hunting(self, case: str, cell: Cell, strength: int) -> None:
        """Take note that a case is made of mutants of a cell's row."""
        cell.chosen += 1
        self._hunted[case] = cell, strength

    def hard(self, cell: Cell, strength: int) -> tuple[float, bool]:
        """Return the share of hard values to expect among mutants, and whether some of that cell's were seen.

        Else it is the mean of all cells.
        """
        if strength in cell.hard:
            return cell.hard[strength], True
        cells, number = self._hard.get(strength, (0.0, 0))
        return cells / max(1, number), False

    def add(self, outcome: Outcome) -> int:
        """Take the rows of one case; return how many cells were new."""
        new = 0
        hard: dict[int, float] = {}
        if outcome.case in self._hunted:
            cell, strength = self._hunted.pop(outcome.case)
            hard = {strength: _hard(outcome)}
            cell.hard |= hard
            total, number = self._hard.get(strength, (0.0, 0))
            self._hard[strength] = total + hard[strength], number + 1
        for reached in outcome.cells:
            known = self.cells.get(reached.cell)
            if known is not None:
                known.visits += 1
            elif reached.parent is not None:
                new += 1
            if reached.parent is not None and (
                known is None or (reached.misrounded, reached.margin) > (known.misrounded, known.margin)
            ):
                self.cells[reached.cell] = Cell(
                    margin=reached.margin,
                    misrounded=reached.misrounded,
                    parent=reached.parent,
                    visits=known.visits if known else 1,
                    chosen=known.chosen if known else 0,
                    hard=dict(hard),
                )
        return new

    def worst(self) -> Cell | None:
        """Return the cell nearest to its bound, a misrounded one before all others, None if there is none.

        A row that was chosen often without giving worse ones loses a little of its rank each time.
        """
        return max(
            self.cells.values(),
            key=lambda cell: (cell.misrounded, cell.margin * 0.98**cell.chosen),
            default=None,
        )

    def rarest(self) -> Cell | None:
        """Return the cell chosen and visited least: what lies beside it may never have been reached."""
        return min(self.cells.values(), key=lambda cell: (cell.chosen, cell.visits), default=None)

    def easiest(self, strength: int) -> Cell | None:
        """Return the cell chosen least of those whose mutants of a strength were easy, else the rarest."""
        easy = (cell for cell in self.cells.values() if cell.hard.get(strength, 1.0) < _EASY)
        return min(easy, key=lambda cell: (cell.chosen, cell.visits), default=None) or self.rarest()


def _hard(outcome: Outcome) -> float:
    slow = outcome.tiers.get("exact", 0) + _COMPARISON * outcome.tiers.get("comparison", 0)
    return slow / max(1, sum(outcome.tiers.values()))
