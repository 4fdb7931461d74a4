"""The page in a real browser: it opens without an error, shows every plot, and its links work."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from reports.html import to_html
from reports.serialize import read_report
from reports.tests.browser import browser, missing
from reports.tests.examples import finding, full_report, report

# Where a browser is to be had, as in CI, its absence is a failure and no reason to skip.
pytestmark = pytest.mark.skipif(
    bool(missing()) and not os.environ.get("MLA_TEST_BROWSER"),
    reason=f"{missing()}; `apt-get install chromium chromium-driver`",
)

PLOTS = [
    f"{name}-{result}"
    for result in ("output", "lse")
    for name in ("heat", "histogram", "survival", "segments", "conditioning", "bias")
]
RECORDED = Path(__file__).resolve().parents[1] / "h200" / "fuzz.json"


@pytest.fixture(scope="module")
def window():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Write the page of a failing run with everything in it, and the files of one finding beside it."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "findings").mkdir()
    (folder / "findings" / "x.safetensors").write_bytes(b"case")
    (folder / "findings" / "x.py").write_text("script")
    whole = full_report()
    more = tuple(finding(id=f"CRASH-{i}", kind="CRASH", message="y" * 200) for i in range(8))
    page = folder / "report.html"
    page.write_text(to_html(replace(whole, findings=(*whole.findings, *more)), report(), folder))
    return page


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    page = tmp_path_factory.mktemp("passing") / "report.html"
    page.write_text(to_html(read_report(RECORDED), folder=page.parent))
    return page


SIZES = """
return [...document.querySelectorAll("figure")].map(figure => {
    const svg = figure.querySelector("svg").getBoundingClientRect();
    const box = figure.getBoundingClientRect();
    const shapes = [...figure.querySelectorAll("svg path, svg use, svg text")]
        .filter(shape => shape.getBoundingClientRect().width > 0);
    return [figure.id, svg.width, svg.height, shapes.length,
            svg.left >= box.left && svg.right <= box.right && box.right <= innerWidth];
})
"""


@pytest.mark.parametrize("width", [400, 800, 1400])
@pytest.mark.parametrize("which", ["passing", "failing"])
def test_the_page_opens_at_every_width_with_every_plot_and_no_error(which, width, window, request):
    page = request.getfixturevalue(which)
    window.resize(width, 900)
    window.open(page.as_uri())
    assert window.console() == []
    assert window.ask("return document.title").startswith("PASS" if which == "passing" else "FAIL")
    assert window.ask("return innerWidth") == width
    # Only tables may be wider than the page, and they scroll by themselves.
    assert window.ask("return document.documentElement.scrollWidth") <= width
    shown = {name: rest for name, *rest in window.ask(SIZES)}
    regimes = which == "failing" or read_report(RECORDED).regimes
    gathered = [name for name in PLOTS if regimes or not name.startswith(("segments", "conditioning"))]
    others = ["discovery", "coverage", "tiers", *(["change"] if which == "failing" else [])]
    assert set(shown) == {f"plot-{name}" for name in (*gathered, *others)}
    for name, (svg_width, svg_height, shapes, inside) in shown.items():
        assert svg_width > 0.6 * min(width, 500), name
        assert svg_height > 60, name
        assert shapes > 10, name
        assert inside, name


def test_the_smallest_letters_of_a_plot_can_be_read_on_a_phone(window, failing):
    window.resize(400, 900)
    window.open(failing.as_uri())
    heights = window.ask(
        'return [...document.querySelectorAll("svg text")].map(text => text.getBoundingClientRect().height)'
        ".filter(height => height > 0)"
    )
    assert min(heights) > 6.5


def test_every_link_of_a_finding_opens_it(window, failing):
    window.resize(800, 900)
    window.open(failing.as_uri())
    links = """[...document.querySelectorAll("#findings a[href^='#']")]"""
    names = window.ask(f"return {links}.map(link => link.getAttribute('href'))")
    assert names == [f"#finding-{number}" for number in range(1, 11)]
    look = """
        const place = document.querySelector(arguments[0]), box = place.getBoundingClientRect();
        return [place.closest("details").open, box.top >= 0 && box.top < innerHeight, box.height > 50];
    """
    for name in names:
        assert not window.ask(look, name)[0]
        window.click(f"#findings a[href='{name}']")
        assert window.ask(look, name) == [True, True, True]
    assert window.console() == []


def test_the_files_of_a_finding_open_from_its_links(window, failing):
    window.open(failing.as_uri())
    links = window.ask("return [...document.querySelectorAll('details a')].map(link => link.href)")
    files = sorted({link for link in links if link.startswith("file:")})
    assert [Path(link).name for link in files] == ["x.py", "x.safetensors"]
    window.open(files[0])
    assert window.ask("return document.body.innerText") == "script"


def test_the_sections_of_the_contents_are_there(window, failing):
    window.open(failing.as_uri())
    links = "[...document.querySelectorAll('nav a')]"
    assert window.ask(f"return {links}.filter(link => !document.querySelector(link.hash)).length") == 0
    assert window.ask(f"return {links}.length") == 8


def test_scripts_do_not_run_and_the_console_would_tell(window, tmp_path):
    text = to_html(report(), folder=tmp_path)
    page = tmp_path / "broken.html"
    page.write_text(text.replace("</body>", "<script>document.title = 'ran'</script></body>"))
    window.open(page.as_uri())
    assert window.ask("return document.title") == "PASS mla_merge"
    assert len(window.console()) == 1
