"""The plots of a report, as SVG. Needs matplotlib, which nothing else of this package does."""

from __future__ import annotations

from collections.abc import Sequence

from reports.movers import Mover
from reports.plots.canvas import Plot
from reports.plots.change import change
from reports.plots.errors import bias, histogram, survival
from reports.plots.growth import against_conditioning, against_segments
from reports.plots.heat import heat
from reports.plots.search import coverage, discovery, tiers
from reports.records import Report


def draw(report: Report, moved: Sequence[Mover] = ()) -> dict[str, Plot]:
    """Draw all that a report has the numbers for, by name; `moved` is what changed against a baseline."""
    plots = [change(moved)]
    for result in ("output", "lse"):
        plots += [
            heat(report.strata, result),
            histogram(report.strata, result),
            survival(report.strata, result),
            against_segments(report.regimes, result),
            against_conditioning(report.regimes, result),
            bias(report.strata, result),
        ]
    plots += [
        discovery(report.coverage),
        coverage(report.coverage.get("cases", {})),
        tiers(report.oracle.get("tiers", {})),
    ]
    return {plot.name: plot for plot in plots if plot is not None}


__all__ = ["Plot", "draw"]
