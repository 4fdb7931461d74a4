"""How the errors of each dtype are distributed: histogram, survival curve, bias."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from reports.plots.canvas import (
    BOUND,
    LARGEST,
    WRONG,
    Plot,
    canvas,
    clipped,
    colour_of,
    dtype_order,
    label,
    log_axis,
    said,
)
from reports.strata import EDGES, Stratum, StratumKey, pooled

_LAST = EDGES.index(0.501)  # bins up to here have one width, nearly
_ROUNDING = 1.0  # ulp; a stratum that stays below shows what its last rounding does
_DOMAINS = ("producer", "stress")


def histogram(strata: Sequence[Stratum], result: str) -> Plot | None:
    """Draw how often each size of |error| occurs; None where nothing was measured."""
    groups = _by_dtype(strata, result, domains=False)
    if not groups:
        return None
    numbers = sum(one.numbers for one in groups)
    beyond = sum(sum(one.counts[_LAST:]) for one in groups)
    title = f"{_share(numbers - beyond, numbers)} of {numbers:,} {result} errors are below 0.501 ulp"
    rows = -(-len(groups) // 2)
    name = f"histogram-{result}"
    with canvas(name, title, 0.5 + 1.15 * rows) as drawn:
        axes = drawn.figure.subplots(rows, 1 if len(groups) == 1 else 2, sharex=True, squeeze=False)
        for place, one in zip(axes.flat, groups, strict=False):
            _bars(place, one)
        for place in axes.flat[len(groups) :]:
            place.set_visible(False)
        drawn.figure.supxlabel("|error|, ulp", fontsize=9)
    return Plot(
        name=name,
        title=title,
        reading=(
            "Share of the values in each bin of 1/64 ulp, of all families together. A correct rounding of "
            "values that fall anywhere fills 0 to 0.5 evenly; spikes at 0, 0.25 or 0.5 are inputs made to be "
            "exact or halfway. The orange bar at the right holds all that is at 0.501 ulp or beyond."
        ),
        svg=drawn.svg,
    )


def _bars(axes: Axes, one: Stratum) -> None:
    shares = [count / one.numbers for count in one.counts]
    beyond = sum(shares[_LAST:])
    inside = [*shares[:32], shares[32]]
    lefts = [*EDGES[:32], 0.5]
    axes.bar(lefts, inside, width=1 / 64, align="edge", color="#0072B2", linewidth=0)
    axes.bar([0.545], [beyond], width=0.03, color=WRONG, linewidth=0, hatch="///" if beyond else None)
    axes.set_title(f"{one.key.dtype}: {beyond:.2g} beyond", fontsize=8, loc="left", pad=3)
    axes.set_xlim(0, 0.57)
    axes.set_xticks([0, 0.25, 0.5])
    axes.locator_params(axis="y", nbins=3)
    axes.tick_params(labelsize=7)


def survival(strata: Sequence[Stratum], result: str) -> Plot | None:
    """Draw which share of the values has an error beyond x; None where nothing was measured."""
    groups = _by_dtype(strata, result, domains=True)
    if not groups:
        return None
    title = _survival_title(groups, result)
    domains = [domain for domain in _DOMAINS if any(one.key.domain == domain for one in groups)]
    name = f"survival-{result}"
    with canvas(name, title, 0.7 + 2.2 * len(domains)) as drawn:
        axes = drawn.figure.subplots(len(domains), 1, sharex=True, squeeze=False)[:, 0]
        dtypes = sorted({one.key.dtype for one in groups}, key=dtype_order)
        for place, domain in zip(axes, domains, strict=True):
            for one in groups:
                if one.key.domain == domain:
                    x, y = _curve(one)
                    style = colour_of(dtypes.index(one.key.dtype))
                    place.step(x, y, where="post", label=one.key.dtype, markersize=4, markevery=4, **style)
            log_axis(place, "x")
            log_axis(place, "y")
            place.set(ylabel="share beyond", xlim=(1 / 64, LARGEST))
            place.axvline(0.501, color=BOUND, linestyle="--", linewidth=1)
            place.set_title(f"{domain} domain", fontsize=9, loc="left")
            place.legend(loc="upper right", fontsize=7)
        axes[-1].set_xlabel("|error|, ulp")
    return Plot(
        name=name,
        title=title,
        reading=(
            "Share of the values whose |error| is at least x. The dashed line is 0.501 ulp, what a correctly "
            "rounded result keeps; a curve goes on beyond it where a sum cancels and the bound's second "
            f"term pays, or where the kernel is wrong. Drawn up to {said(LARGEST)} ulp."
        ),
        svg=drawn.svg,
    )


def _survival_title(groups: Sequence[Stratum], result: str) -> str:
    numbers = sum(one.numbers for one in groups)
    beyond = sum(sum(one.counts[_LAST:]) for one in groups)
    failed = sum(one.failed for one in groups)
    if not beyond:
        return f"No {result} error reaches 0.501 ulp"
    judged = "none of them wrong" if not failed else f"and {failed:,} values are wrong"
    return f"{_share(beyond, numbers)} of the {result} errors reach 0.501 ulp; {judged}"


def _curve(one: Stratum) -> tuple[list[float], list[float]]:
    left, xs, ys = one.numbers, [], []
    for edge, count in zip(EDGES, one.counts, strict=False):
        if not left:
            break
        xs.append(clipped(edge, 1 / 64))
        ys.append(left / one.numbers)
        left -= count
    return [*xs, clipped(max(one.max_ulp, xs[-1]), 1 / 64)], [*ys, ys[-1]]


def bias(strata: Sequence[Stratum], result: str) -> Plot | None:
    """Draw the mean signed error of each stratum that rounds; None where nothing was measured."""
    mine = [one for one in strata if one.key.result == result and one.numbers]
    if not mine:
        return None
    rounding = [one for one in mine if one.max_ulp < _ROUNDING]
    title = _bias_title(rounding, len(mine), result)
    name = f"bias-{result}"
    names = sorted({_group(one.key, result) for one in mine}, key=dtype_order)
    with canvas(name, title, 1.0 + 0.3 * len(names)) as drawn:
        axes = drawn.axes()
        axes.axvline(0, color=BOUND, linewidth=1)
        for y, dtype in enumerate(names):
            parts = [one for one in rounding if _group(one.key, result) == dtype]
            means = [one.mean_signed_ulp for one in parts]
            colour = colour_of(y)["color"]
            axes.plot(means, [y] * len(means), "o", color=colour, alpha=0.45, markersize=5)
            if numbers := sum(one.numbers for one in parts):
                mean = sum(one.mean_signed_ulp * one.numbers for one in parts) / numbers
                axes.plot([mean], [y], "|", color=BOUND, markersize=16, markeredgewidth=2)
        reach = max((abs(one.mean_signed_ulp) for one in rounding), default=0.0)
        axes.set_xlim(-max(0.1, 1.15 * reach), max(0.1, 1.15 * reach))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("mean signed error, ulp")
    return Plot(
        name=name,
        title=title,
        reading=(
            f"A dot is the mean signed error of a stratum whose errors all stay below {_ROUNDING:g} ulp, so "
            "that the last rounding makes most of them; the bar is the mean of all of these. A rounding to "
            "nearest has no bias of its own: a dot far from 0 is a family of inputs that lie on one side "
            "of a tie, or a kernel that rounds to one side."
        ),
        svg=drawn.svg,
    )


def _bias_title(rounding: Sequence[Stratum], strata: int, result: str) -> str:
    if not rounding:
        return f"No {result} stratum keeps its errors below {_ROUNDING:g} ulp: no bias of a rounding to see"
    worst = max(rounding, key=lambda one: (abs(one.mean_signed_ulp), one.key))
    return (
        f"In {len(rounding)} of {strata} {result} strata the last rounding dominates; the largest mean error "
        f"among them is {worst.mean_signed_ulp:+.3g} ulp, of {label(worst.key.family)} in {worst.key.dtype}"
    )


def _group(key: StratumKey, result: str) -> str:
    # An lse is float32 whatever the output is.
    return label(key.dtype) if result == "output" else "lse"


def _by_dtype(strata: Sequence[Stratum], result: str, *, domains: bool) -> list[Stratum]:
    mine = (one for one in strata if one.key.result == result and one.numbers)
    groups = pooled(
        mine, lambda key: StratumKey("", key.domain if domains else "", _group(key, result), result)
    )
    return sorted(groups.values(), key=lambda one: (dtype_order(one.key.dtype), one.key))


def _share(part: int, whole: int) -> str:
    share = part / whole
    return f"{share:.2%}" if 0.0001 < share < 0.9999 or part in (0, whole) else f"{share:.6%}"
