"""Margin by family and dtype: where a kernel comes near its bound, and where it breaks it."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from reports.plots.canvas import WRONG, Canvas, Plot, canvas, dtype_order, label
from reports.strata import Stratum, StratumKey, pooled

_FILL = "#fbdcc4"
_MOST = 40  # rows; the families with the worst margins


def heat(strata: Sequence[Stratum], result: str) -> Plot | None:
    """Draw the largest |error| / bound of each family and dtype; None where nothing was measured."""
    mine = (stratum for stratum in strata if stratum.key.result == result)
    cells = pooled(mine, lambda key: StratumKey(key.family, "", key.dtype, result))
    if not cells:
        return None
    order = sorted(cells.values(), key=lambda one: (one.failed == 0, -one.margin, one.key))
    families = list(dict.fromkeys(one.key.family for one in order))[:_MOST]
    dtypes = sorted({one.key.dtype for one in order}, key=dtype_order)
    title = _title(order, result)
    with canvas(f"heat-{result}", title, 1.2 + 0.2 * len(families)) as drawn:
        _draw(drawn, cells, families, dtypes, result)
    left_out = len({one.key.family for one in order}) - len(families)
    return Plot(
        name=f"heat-{result}",
        title=title,
        reading=(
            "Largest |error| / bound of each family of inputs (rows, worst first) and output dtype "
            "(columns); 1 is the bound. Orange: a cell with wrong values, and their number."
            + (f" {left_out} families with smaller margins are left out." if left_out else "")
        ),
        svg=drawn.svg,
    )


def _title(order: Sequence[Stratum], result: str) -> str:
    worst = order[0]
    where = f"{label(worst.key.family)} in {worst.key.dtype}"
    failing = sum(one.failed > 0 for one in order)
    if failing:
        return f"{failing} of {len(order)} cells hold a wrong {result}; first among them {where}"
    return f"Every {result} is within its bound; the nearest, {where}, uses {worst.margin:.4g} of it"


def _draw(
    drawn: Canvas,
    cells: dict[StratumKey, Stratum],
    families: Sequence[str],
    dtypes: Sequence[str],
    result: str,
) -> None:
    axes = drawn.axes()
    axes.grid(visible=False)
    grid = [[cells.get(StratumKey(family, "", dtype, result)) for dtype in dtypes] for family in families]
    shades = [[min(one.margin, 1.0) if one else float("nan") for one in row] for row in grid]
    axes.pcolormesh(
        range(len(dtypes) + 1), range(len(families) + 1), shades, cmap="Blues", norm=Normalize(0, 1.6)
    )
    for y, row in enumerate(grid):
        for x, one in enumerate(row):
            if one is None:
                continue
            said = f"✗ {one.failed}" if one.failed else _said(one.margin)
            axes.text(x + 0.5, y + 0.5, said, ha="center", va="center", fontsize=7)
            if one.failed:
                axes.add_patch(_frame(x, y))
    axes.invert_yaxis()
    axes.set_xticks(
        [x + 0.5 for x in range(len(dtypes))],
        [dtype.removeprefix("float8_") for dtype in dtypes],
        rotation=35,
        ha="right",
    )
    axes.set_yticks([y + 0.5 for y in range(len(families))], [label(family, 18) for family in families])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _said(margin: float) -> str:
    return "< 0.001" if 0 < margin < 1e-3 else f"{margin:.3g}"


def _frame(x: int, y: int) -> Rectangle:
    return Rectangle((x + 0.05, y + 0.06), 0.9, 0.88, facecolor=_FILL, edgecolor=WRONG, linewidth=1.6)
