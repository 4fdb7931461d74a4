"""How a run searched: what it discovered when, how many cases each family had, what the oracle needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reports.plots.canvas import BOUND, COLOURS, Plot, canvas, clipped, label, log_axis

_MOST = 400  # points of a curve; bars of a plot below
_BARS = 40
_STREAMS = (("discovery", "drawn cases", "-"), ("hunt_discovery", "hunt", "--"))


def discovery(coverage: Mapping[str, Any]) -> Plot | None:
    """Draw the largest margin so far against the number of the case; None for a run without a search."""
    curves = [(name, style, _thinned(coverage[part])) for part, name, style in _STREAMS if coverage.get(part)]
    if not curves:
        return None
    name, _, curve = curves[0]
    title = f"The {name} came no nearer to a bound after case {curve[-1][0]}, at {curve[-1][1]:.4g} of it"
    with canvas("discovery", title, 2.8) as drawn:
        axes = drawn.axes()
        longest = max(curve[-1][0] for _, _, curve in curves)
        for index, (name, style, curve) in enumerate(curves):
            xs = [number + 1 for number, _ in curve] + [longest + 1]
            ys = [clipped(margin, 1e-6) for _, margin in curve]
            axes.step(
                xs,
                [*ys, ys[-1]],
                where="post",
                label=name,
                color=COLOURS[index],
                linestyle=style,
                marker="o",
                markersize=3,
            )
        axes.axhline(1, color=BOUND, linestyle=":", linewidth=1)
        log_axis(axes, "x")
        axes.set(xlabel="case", ylabel="largest |error| / bound so far")
        if max(margin for _, _, curve in curves for _, margin in curve) > 10:
            log_axis(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        axes.legend()
    return Plot(
        name="discovery",
        title=title,
        reading=(
            "Every step is a case that came nearer to its bound (dotted, 1) than all before it. A curve that "
            "still climbs at its end says that more cases would find more."
        ),
        svg=drawn.svg,
    )


def _thinned(curve: Sequence[Sequence[Any]]) -> list[tuple[int, float]]:
    points = [(int(number), float(margin)) for number, margin in curve]
    return points[:: -(-len(points) // _MOST)] + points[-1:]


def coverage(cases: Mapping[str, int]) -> Plot | None:
    """Draw how many cases each family had; None where there were none."""
    families: Counter[str] = Counter()
    for name, count in cases.items():
        families[name.rpartition(" ")[0] or name] += count
    ordered = sorted(families.items(), key=lambda item: (-item[1], item[0]))[:_BARS]
    if not ordered:
        return None
    title = f"{len(families)} families of inputs, {sum(families.values()):,} cases"
    with canvas("coverage", title, 0.8 + 0.18 * len(ordered)) as drawn:
        axes = drawn.axes()
        axes.grid(visible=False, axis="y")
        bars = axes.barh(range(len(ordered)), [count for _, count in ordered], color=COLOURS[0])
        axes.bar_label(bars, padding=3, fontsize=7)
        axes.set_yticks(range(len(ordered)), [label(name, 18) for name, _ in ordered], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("cases, of all dtypes")
    return Plot(
        name="coverage",
        title=title,
        reading="Cases that the kernel was given and that it declares to support.",
        svg=drawn.svg,
    )


def tiers(counts: Mapping[str, int]) -> Plot | None:
    """Draw which share of the values each tier of the oracle decided; None where nothing was decided."""
    ordered = sorted(((count, name) for name, count in counts.items() if count), reverse=True)[:_BARS]
    if not ordered:
        return None
    whole = sum(count for count, _ in ordered)
    most, name = ordered[0]
    title = f"The oracle decided {whole:,} values by proof, {most / whole:.0%} of them in tier {label(name)}"
    with canvas("tiers", title, 0.8 + 0.25 * len(ordered)) as drawn:
        axes = drawn.axes()
        axes.grid(visible=False, axis="y")
        bars = axes.barh(range(len(ordered)), [count / whole for count, _ in ordered], color=COLOURS[2])
        axes.bar_label(bars, [f"{count:,}" for count, _ in ordered], padding=3, fontsize=7)
        axes.set_yticks(range(len(ordered)), [label(name) for _, name in ordered])
        axes.invert_yaxis()
        axes.set(xlabel="share of the values", xlim=(0, 1.2 * most / whole))
    return Plot(
        name="tiers",
        title=title,
        reading="A cheap tier decides what its error bound allows; what it cannot decide goes to the next.",
        svg=drawn.svg,
    )
