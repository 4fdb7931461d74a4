"""What the vectorised tiers hand on, collected until it is settled by exact integers."""

from dataclasses import dataclass

import torch

from verify.oracle.escalate import Task, answer_all
from verify.oracle.target import Base, TargetFormat, Value
from verify.oracle.tiers import Picked


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Values that the exact tier decided, with their places."""

    output_at: tuple[list[int], list[int]]
    """Rows and columns of the outputs."""
    output: list[Value]
    """The outputs."""
    lse_at: tuple[list[int]]
    """Rows of the lses."""
    lse: list[Value]
    """The lses."""
    bits: int
    """The most working bits used."""


class Pending:
    """Single outputs and lses with the inputs that decide them, on the CPU."""

    def __init__(self, base: Base, lse_base: Base) -> None:
        self.base, self.lse_base = base, lse_base
        self.size = 0
        self._tasks: list[Task] = []
        self._output_rows: list[int] = []
        self._output_columns: list[int] = []
        self._lse_rows: list[int] = []

    def ask(
        self,
        rows: torch.Tensor,
        m: torch.Tensor,
        s: torch.Tensor,
        live: torch.Tensor,
        picked: Picked | None = None,
    ) -> None:
        """Ask for single outputs, or without them for the lses, of block rows m, s, live [n, S].

        `rows` [n] are the rows' numbers in the whole merge. The picked outputs of a row stand together.
        """
        if picked is None:
            self._lse_rows += rows.tolist()
            which, ends = torch.arange(rows.shape[0]), [0] * rows.shape[0]
            o = torch.empty(0, m.shape[1])
        else:
            self._output_rows += rows[picked.row].tolist()
            self._output_columns += picked.column.tolist()
            unique, counts = torch.unique_consecutive(picked.row, return_counts=True)
            which, ends, o = unique.cpu(), counts.cumsum(0).tolist(), picked.o.cpu()
            self.size += o.numel()
        start = 0
        m, s, live = (x[which.to(x.device)].cpu() for x in (m, s, live))
        for i, end in enumerate(ends):
            kept = live[i]
            columns = o[start:end, kept].tolist()
            self._tasks.append(
                Task(
                    m=m[i, kept].tolist(),
                    s=s[i, kept].tolist(),
                    columns=columns,
                    lse=picked is None,
                    base=self.base,
                    lse_base=self.lse_base,
                )
            )
            start = end

    def settle(self, output_format: TargetFormat, lse_format: TargetFormat, processes: int) -> Settled:
        """Settle all that was asked, and forget it."""
        answers = answer_all(self._tasks, output_format, lse_format, processes)
        settled = Settled(
            output_at=(self._output_rows, self._output_columns),
            output=[value for found in answers for value in found.output],
            lse_at=(self._lse_rows,),
            lse=[found.lse for found in answers if found.lse is not None],
            bits=max((found.bits for found in answers), default=0),
        )
        self.size, self._tasks = 0, []
        self._output_rows, self._output_columns, self._lse_rows = [], [], []
        return settled
