"""What the plots draw, read out of their SVG, and what their titles say."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from reports.movers import movers
from reports.plots import draw
from reports.plots.canvas import LARGEST, clipped, dtype_order, label, said
from reports.plots.change import change
from reports.plots.errors import bias, histogram, survival
from reports.plots.growth import against_conditioning, against_segments
from reports.plots.heat import heat
from reports.plots.search import coverage, discovery
from reports.regimes import Regime, RegimeKey
from reports.strata import EDGES
from reports.tests.examples import full_report, regimes, report, stratum

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["heat", "histogram", "survival", "segments", "conditioning", "bias"]


def drawn(function, *arguments):
    plot = function(*arguments)
    assert plot is not None
    return plot


@pytest.fixture(scope="module")
def plots():
    whole = full_report()
    return draw(whole, movers(report(), whole))


def texts(plot):
    return [element.text for element in ET.fromstring(plot.svg).iter(f"{SVG}text")]


def test_every_plot_that_the_page_has_a_place_for_is_drawn(plots):
    both = [f"{name}-{result}" for result in ("output", "lse") for name in NAMES]
    assert list(plots) == ["change", *both, "discovery", "coverage", "tiers"]
    for name, plot in plots.items():
        assert (plot.name, bool(plot.title), bool(plot.reading)) == (name, True, True)


def test_what_a_report_lacks_is_not_drawn():
    bare = report(strata=(), oracle={"tiers": {}}, coverage={"cases": {}})
    assert draw(bare) == {}
    assert not {"segments-output", "change", "discovery"} & set(draw(report()))


def test_the_same_report_gives_the_same_pictures(plots):
    whole = full_report()
    again = draw(whole, movers(report(), whole))
    assert {name: plot.svg for name, plot in again.items()} == {n: plot.svg for n, plot in plots.items()}


def test_pictures_live_in_one_page_without_meeting(plots):
    names = []
    for name, plot in plots.items():
        assert not re.search(r"<style|<metadata|<script|<!--|<\?xml|<image|\d\d\d\d-\d\d-\d\d", plot.svg)
        own = re.findall(r'\bid="([^"]*)"', plot.svg)
        assert all(one.startswith(f"{name}-") for one in own)
        names += own
        targets = re.findall(r'(?:url\(#|href="#)([^)"]+)', plot.svg)
        assert set(targets) <= set(own)
        root = ET.fromstring(plot.svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == plot.title
    assert len(set(names)) == len(names)


def test_text_stays_text_and_no_tick_speaks_of_mathematics(plots):
    for plot in plots.values():
        assert texts(plot)
        assert not any("$" in (text or "") for text in texts(plot))


def test_the_heat_map_shows_margins_and_how_many_values_are_wrong():
    strata = [
        stratum("a", margin=0.5),
        stratum("a", "bfloat16", margin=1e-9, failed=12),  # NaNs, say: they have no margin
        stratum("b", margin=0.75),
        stratum("b", "bfloat16", margin=1e-9),
        stratum("b", "bfloat16", "lse", failed=99),
    ]
    plot = drawn(heat, strata, "output")
    assert plot.title == "1 of 4 cells hold a wrong output; first among them a in bfloat16"
    assert {"0.5", "✗ 12", "< 0.001"} <= set(texts(plot))
    assert [text for text in texts(plot) if text in ("a", "b")] == ["a", "b"]  # the wrong row first
    right = drawn(heat, [stratum("a", margin=0.5), stratum("b", margin=0.875)], "output")
    assert right.title == "Every output is within its bound; the nearest, b in float32, uses 0.875 of it"


def test_a_heat_map_of_many_families_keeps_the_worst_and_says_so():
    strata = [stratum(f"f{i}", margin=i / 100) for i in range(60)]
    plot = drawn(heat, strata, "output")
    assert "20 families with smaller margins are left out" in plot.reading
    assert ("f59" in texts(plot), "f20" in texts(plot), "f19" in texts(plot)) == (True, True, False)


def counts(**bins):
    made = [0] * (len(EDGES) - 1)
    for name, count in bins.items():
        made[EDGES.index(float(name.removeprefix("at_").replace("_", ".")))] = count
    return {"counts": tuple(made), "numbers": sum(made), "outputs": sum(made)}


def test_the_histogram_counts_what_no_correct_rounding_makes():
    strata = [stratum("a", **counts(at_0_25=90, at_0_501=2, at_10_0=8)), stratum("a", result="lse")]
    assert drawn(histogram, strata, "output").title == "90.00% of 100 output errors are below 0.501 ulp"
    assert "float32: 0.1 beyond" in texts(drawn(histogram, strata, "output"))
    assert drawn(histogram, strata, "lse").title == "100.00% of 10 lse errors are below 0.501 ulp"


def test_the_survival_curve_tells_errors_that_are_granted_from_wrong_ones():
    granted = stratum("a", **counts(at_0_25=90, at_10_0=10))
    assert drawn(survival, [granted], "output").title == (
        "10.00% of the output errors reach 0.501 ulp; none of them wrong"
    )
    wrong = replace(granted, failed=4)
    assert "and 4 values are wrong" in drawn(survival, [wrong], "output").title
    assert (
        drawn(survival, [stratum(**counts(at_0_25=9))], "output").title == "No output error reaches 0.501 ulp"
    )


def test_the_bias_is_that_of_strata_whose_errors_are_those_of_a_rounding():
    skew = stratum("skew", sum_units=-10 << 30)
    wild = stratum("wild", sum_units=10 << 60, max_ulp=1e9)
    plot = drawn(bias, [stratum("even", sum_units=0), skew, wild], "output")
    assert plot.title == (
        "In 2 of 3 output strata the last rounding dominates; the largest mean error among them is "
        "-0.25 ulp, of skew in float32"
    )
    assert "no bias of a rounding to see" in drawn(bias, [wild], "output").title


def test_growth_with_s_is_shown_where_little_cancels():
    plot = drawn(against_segments, regimes(), "output")
    assert plot.title == "Up to S = 8 the largest output error is 0.49 ulp where hardly anything cancels"
    assert {"1", "2", "4", "8"} <= set(texts(plot))
    assert against_segments([one for one in regimes() if one.key.conditioning > 4], "output") is None


def test_the_title_tells_from_which_conditioning_on_errors_grow():
    plot = drawn(against_conditioning, regimes(), "output")
    assert plot.title == "No output error exceeds 0.501 ulp until 16 bits cancel, first in bfloat16"
    key = RegimeKey("float32", "lse", 1, 0)
    at_once = [Regime(key=key, numbers=1, max_ulp=2.0, bound=0.5)]
    assert "even where nothing cancels" in drawn(against_conditioning, at_once, "lse").title
    right = [Regime(key=key, numbers=1, max_ulp=0.5, bound=0.5)]
    assert (
        drawn(against_conditioning, right, "lse").title
        == "No lse error exceeds 0.501 ulp, however much cancels"
    )


def test_the_scatter_names_the_stratum_that_got_worse_most():
    before = report(strata=(stratum("a", margin=0.5), stratum("b", margin=0.5)))
    after = report(strata=(stratum("a", margin=0.6), stratum("b", margin=0.75)))
    assert drawn(change, movers(before, after)).title == (
        "2 of 2 strata came nearer to their bound; most of all b float32 output, from 0.5 to 0.75 of it"
    )
    assert drawn(change, movers(after, before)).title == "None of 2 strata came nearer to its bound"
    assert change(movers(report(strata=()), after)) is None


def test_the_discovery_curve_ends_where_the_search_came_nearest():
    plot = drawn(discovery, {"discovery": [[0, 0.5], [7, 0.75]], "hunt_discovery": []})
    assert plot.title == "The drawn cases came no nearer to a bound after case 7, at 0.75 of it"
    long = drawn(discovery, {"discovery": [[i, i / 1e5] for i in range(100_000)]})
    assert long.title.startswith("The drawn cases came no nearer to a bound after case 99999, at 1 of it")
    assert len(long.svg) < 200_000


def test_families_are_counted_over_their_dtypes():
    plot = drawn(coverage, {"ties float32": 2, "ties float16": 3, "odd shapes float32": 1})
    assert plot.title == "2 families of inputs, 6 cases"
    assert {"5", "1", "ties", "odd shapes"} <= set(texts(plot))


def test_names_and_numbers_fit_a_plot():
    assert label("a\u2028b\ud800$x$") == "a?b?$x$"
    assert len(label("x" * 1000)) == 26
    assert (clipped(float("inf")), clipped(0.5), clipped(0.0, 1e-3)) == (LARGEST, 0.5, 1e-3)
    assert [said(value) for value in (0.01, 1.0, 1000.0, 1e4, 1e-5, 0.0)] == [
        "0.01",
        "1",
        "1000",
        "10⁴",
        "10⁻⁵",
        "",
    ]
    names = ["float8_e5m2", "bfloat16", "float16", "float32"]
    assert sorted(names, key=dtype_order) == ["float32", "float16", "bfloat16", "float8_e5m2"]
