"""What all plots have in common: size, type, colours, and how a figure becomes SVG inside a page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

WIDTH = 5.2
"""Inches; a narrow phone shows them at three quarters of their size, with type that can still be read."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""After Okabe and Ito, told apart by all common kinds of colour vision."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One for each colour: what a colour says, a shape says too."""
BOUND = "#000000"
"""Colour of a bound."""
WRONG = "#D55E00"
"""Colour of what exceeds its bound."""

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_DTYPES = ("float32", "float16", "bfloat16")

LARGEST = 1e12
"""Ulps and margins beyond this are drawn here: an axis that reaches 10^45 shows nothing."""

_TYPE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 9.0,
    "text.parse_math": False,  # a name may hold dollar signs
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "axes.formatter.use_mathtext": False,
}


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One picture and the words that go with it."""

    name: str
    """Names the element of the page that holds it: `plot-NAME`."""
    title: str
    """What there is to see in it, in one sentence."""
    reading: str
    """How to read it: axes, marks, what was left out."""
    svg: str
    """The picture, to be put into a page as it is."""


class Canvas:
    """A figure while it is drawn; afterwards `svg` holds it."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.svg = ""

    def axes(self) -> Axes:
        """Return the only axes of the figure."""
        return self.figure.subplots()


@contextmanager
def canvas(name: str, title: str, height: float) -> Iterator[Canvas]:
    """Open a figure of that height in inches; at the end it is SVG: the same drawing, the same text."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the reader's own settings are
        mpl.rcParams.update({**_TYPE, "svg.hashsalt": name})
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        drawn = Canvas(figure)
        yield drawn
        drawn.svg = _inline(figure, name, title)


def label(text: str, longest: int = 26) -> str:
    """Return a name as a plot shows it: short, and of letters that every font has."""
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def log_axis(axes: Axes, which: str, base: float = 10) -> None:
    """Make an axis (`x` or `y`) logarithmic, its ticks plain text: 0.01, 1, 10⁴."""
    getattr(axes, f"set_{which}scale")("log", base=base)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: said(value)))
    axis.set_minor_formatter(NullFormatter())


def said(value: float) -> str:
    """Return the number at a tick: plain, or the nearest power of ten."""
    if value <= 0:
        return ""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    exponent = round(math.log10(value))
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def clipped(value: float, smallest: float = 0.0) -> float:
    """Return a value as far as a plot shows it."""
    return min(max(value, smallest), LARGEST)


def dtype_order(dtype: str) -> tuple[int, str]:
    """Return a key that puts the wider formats first."""
    return (_DTYPES.index(dtype) if dtype in _DTYPES else len(_DTYPES), dtype)


def colour_of(index: int) -> dict[str, Any]:
    """Return colour and marker of a line, for matplotlib's arguments."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def _inline(figure: Figure, name: str, title: str) -> str:
    """Return a figure as an SVG element whose names and styles do not touch the rest of the page."""
    text = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", metadata=nothing, transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1{name}-", svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")  # for readers without it
    head = f'<svg role="img" aria-label="{escape(title, quote=True)}"'
    return svg.replace("<svg", head, 1).strip()
