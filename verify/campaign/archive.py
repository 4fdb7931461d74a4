"""The archive of the hunt: the worst row met in every behaviour cell, and how often each cell was visited."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.recipe import Recipe
from verify.campaign.outcome import Outcome


@dataclass(kw_only=True)
class Cell:
    """One behaviour cell that was reached."""

    margin: float
    """|error| / bound of its worst row."""
    parent: Recipe
    """That row."""
    visits: int = 1
    """Cases that reached the cell."""
    chosen: int = 0
    """Times that mutants were made of its row."""


class Archive:
    """Cells by name; fed in the order of the cases, so that the same run has the same archive."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}

    def add(self, outcome: Outcome) -> int:
        """Take the rows of one case; return how many cells were new."""
        new = 0
        for reached in outcome.cells:
            known = self.cells.get(reached.cell)
            if known is not None:
                known.visits += 1
                if reached.parent is not None and reached.margin > known.margin:
                    known.margin, known.parent = reached.margin, reached.parent
            elif reached.parent is not None:
                self.cells[reached.cell] = Cell(margin=reached.margin, parent=reached.parent)
                new += 1
        return new

    def worst(self) -> Cell | None:
        """Return the cell nearest to its bound, None if there is none.

        A row that was chosen often without giving worse ones loses a little of its rank each time.
        """
        return max(self.cells.values(), key=lambda cell: cell.margin * 0.98**cell.chosen, default=None)

    def rarest(self) -> Cell | None:
        """Return the cell chosen and visited least: what lies beside it may never have been reached."""
        return min(self.cells.values(), key=lambda cell: (cell.chosen, cell.visits), default=None)
