"""The demand that most laws end with: the same bits as the case itself has."""

from __future__ import annotations

from torch import Tensor

from verify.laws.demand import Demand, Place
from verify.laws.law import Trial


def unchanged(trial: Trial, place: Place, rows: Tensor | None = None) -> tuple[Demand, Demand]:
    """Return the demands that output and lse have the case's bits, on the given rows [T', H'] or on all."""
    output, lse = place.of(trial.returned.output), place.of(trial.returned.lse)
    source = f"{trial.name} has"
    columns = None if rows is None else rows[..., None].expand(output.shape)
    return (
        Demand(result="output", want=output, source=source, mask=columns),
        Demand(result="lse", want=lse, source=source, mask=rows),
    )
