"""What changed against a baseline: every stratum before and after."""

from __future__ import annotations

from collections.abc import Sequence

from reports.movers import Mover
from reports.plots.canvas import BOUND, COLOURS, WRONG, Plot, canvas, clipped, label, log_axis

_LEAST = 1e-3  # margins below are drawn here: an axis must begin somewhere


def change(moved: Sequence[Mover]) -> Plot | None:
    """Draw the margin of each stratum after against before; None where no stratum is in both reports."""
    both = [mover for mover in moved if mover.before is not None and mover.after is not None]
    if not both:
        return None
    worse = [mover for mover in both if mover.margin_change > 0]
    title = _title(both, worse)
    with canvas("change", title, 4.2) as drawn:
        axes = drawn.axes()
        points = [(_drawn(m.before_margin), _drawn(m.after_margin), m) for m in both]
        lowest = min(0.1, *(min(x, y) for x, y, _ in points)) / 1.3
        highest = max(2.0, *(max(x, y) for x, y, _ in points)) * 1.3
        axes.plot([lowest, highest], [lowest, highest], color=BOUND, linewidth=0.8)
        for wanted, colour, marker, name in (
            (False, COLOURS[0], "o", "no worse"),
            (True, WRONG, "^", "worse"),
        ):
            mine = [(x, y) for x, y, mover in points if (mover.margin_change > 0) == wanted]
            if mine:
                xs, ys = zip(*mine, strict=True)
                axes.plot(xs, ys, marker, color=colour, alpha=0.7, markersize=5, label=name)
        for axis in "xy":
            log_axis(axes, axis)
        for line in (axes.axhline, axes.axvline):
            line(1, color=BOUND, linestyle=":", linewidth=1)
        axes.set(
            xlim=(lowest, highest),
            ylim=(lowest, highest),
            xlabel="|error| / bound before",
            ylabel="after",
        )
        axes.legend(loc="lower right")
    return Plot(
        name="change",
        title=title,
        reading=(
            "A mark is a stratum (family, domain, dtype, result) with its largest |error| / bound before and "
            "after. Above the diagonal it got worse; the dotted lines are the bound."
        ),
        svg=drawn.svg,
    )


def _title(both: Sequence[Mover], worse: Sequence[Mover]) -> str:
    if not worse:
        return f"None of {len(both)} strata came nearer to its bound"
    first = max(worse, key=lambda mover: (mover.margin_change, mover.key))
    what = label(f"{first.key.family} {first.key.dtype} {first.key.result}", 50)
    before, after = first.before_margin or 0.0, first.after_margin or 0.0
    return (
        f"{len(worse)} of {len(both)} strata came nearer to their bound; most of all {what}, from "
        f"{before:.4g} to {after:.4g} of it"
    )


def _drawn(margin: float | None) -> float:
    return clipped(margin or 0.0, _LEAST)
