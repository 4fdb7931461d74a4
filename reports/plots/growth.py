"""How the errors grow with the number of segments, and with how much a sum cancels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reports.plots.canvas import LARGEST, Plot, canvas, clipped, colour_of, dtype_order, label, log_axis, said
from reports.regimes import CONDITIONING_EDGES, Regime

_GENTLE = 2
"""Bits: where less than this cancels, what is left to grow with S is the arithmetic's own error."""

_CORRECT = 0.501
"""Ulp; what is above it is more than the error of a last rounding."""


class _Point(NamedTuple):
    x: int
    error: float
    bound: float


def against_segments(regimes: Sequence[Regime], result: str) -> Plot | None:
    """Draw the largest |error| against S where hardly anything cancels; None where nothing was measured."""
    mine = [one for one in regimes if one.key.conditioning < _GENTLE]
    lines = _lines(mine, result, lambda one: one.key.segments)
    if not lines:
        return None
    worst = max(point.error for points in lines.values() for point in points)
    most = max(point.x for points in lines.values() for point in points)
    title = f"Up to S = {most} the largest {result} error is {worst:.4g} ulp where hardly anything cancels"
    return _drawn(
        lines,
        name=f"segments-{result}",
        title=title,
        across="segments S (bins of a factor 2)",
        reading=(
            f"Marks: largest |error| of the values with a condition number below {2**_GENTLE}. Dashed "
            "in the same colour: the largest bound that any of them was granted, by the bounds' formula. "
            "A mark above its line is a fault; marks that climb while a line stays flat are a sum that loses "
            "accuracy with every segment."
        ),
        edges=tuple(1 << power for power in range(33)),
    )


def against_conditioning(regimes: Sequence[Regime], result: str) -> Plot | None:
    """Draw the largest |error| against the bits that cancel; None where nothing was measured."""
    lines = _lines(regimes, result, lambda one: one.key.conditioning)
    if not lines:
        return None
    return _drawn(
        lines,
        name=f"conditioning-{result}",
        title=_conditioning_title(lines, result),
        across="bits that cancel, at least",
        reading=(
            "Marks: largest |error| where so many bits of the sum cancel (log2 of the condition number; the "
            "last bin holds exact zeros too). Dashed, in the same colour: the largest bound granted there. "
            f"Errors and bounds are drawn up to {said(LARGEST)} ulp."
        ),
        edges=CONDITIONING_EDGES,
    )


def _conditioning_title(lines: dict[str, list[_Point]], result: str) -> str:
    leaves = [
        (point.x, dtype) for dtype, points in lines.items() for point in points if point.error > _CORRECT
    ]
    if not leaves:
        return f"No {result} error exceeds {_CORRECT} ulp, however much cancels"
    bits, dtype = min(leaves)
    if bits == 0:
        return (
            f"The largest {result} error exceeds {_CORRECT} ulp in {label(dtype)} even where nothing cancels"
        )
    return f"No {result} error exceeds {_CORRECT} ulp until {bits} bits cancel, first in {label(dtype)}"


def _lines(regimes: Sequence[Regime], result: str, x_of: Callable[[Regime], int]) -> dict[str, list[_Point]]:
    worst: dict[str, dict[int, _Point]] = {}
    for one in regimes:
        if one.key.result == result and one.numbers:
            known = worst.setdefault(one.key.dtype, {})
            x = x_of(one)
            before = known.get(x, _Point(x, 0.0, 0.0))
            known[x] = _Point(x, max(before.error, one.max_ulp), max(before.bound, one.bound))
    ordered = sorted(worst.items(), key=lambda item: dtype_order(item[0]))
    return {dtype: [points[x] for x in sorted(points)] for dtype, points in ordered}


def _drawn(
    lines: dict[str, list[_Point]], *, name: str, title: str, across: str, reading: str, edges: Sequence[int]
) -> Plot:
    """Draw marks and bounds at the places of the bins' edges; as the bins grow, so does the scale."""
    reached = max(point.x for points in lines.values() for point in points)
    shown = [edge for edge in edges if edge <= reached]
    with canvas(name, title, 3.4) as drawn:
        axes = drawn.axes()
        for index, (dtype, points) in enumerate(lines.items()):
            style = colour_of(index)
            xs = [shown.index(point.x) for point in points]
            axes.plot(xs, [clipped(p.error, 1e-3) for p in points], markersize=5, label=label(dtype), **style)
            axes.plot(xs, [clipped(p.bound, 1e-3) for p in points], "--", color=style["color"], linewidth=1)
        log_axis(axes, "y")
        highest = max(clipped(max(p.error, p.bound)) for points in lines.values() for p in points)
        axes.set_ylim(0.1, 2 * max(highest, 1.0))
        axes.set_xticks(range(len(shown)), [str(edge) for edge in shown], fontsize=8)
        axes.set(xlabel=across, ylabel="|error|, ulp")
        axes.legend(ncols=2, fontsize=7, loc="upper left")
    return Plot(name=name, title=title, reading=reading, svg=drawn.svg)
