"""The page as a parser sees it; how a browser shows it is another matter, see test_browser.py."""

from html.parser import HTMLParser

import pytest

from reports.html import to_html
from reports.tests.examples import finding, full_report, report, stratum

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements of a page, with a complaint about what is not nested as it should be."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value)
            elif name == "href":
                self.hrefs.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "findings").mkdir()
    (folder / "findings" / "x.safetensors").touch()
    text = to_html(full_report(), report(), folder)
    return text, Page(text)


def test_every_section_stands_in_the_order_of_the_interface(whole):
    _, page = whole
    sections = ["verdict", "changed", "bounds", "output", "lse", "findings", "search", "speed", "method"]
    assert [name for name in page.ids if name in sections] == sections


def test_every_plot_is_in_the_page_once(whole):
    _, page = whole
    names = ["heat", "histogram", "survival", "segments", "conditioning", "bias"]
    wanted = [f"plot-{name}-{result}" for result in ("output", "lse") for name in names]
    figures = [name for name in page.ids if name.startswith("plot-")]
    assert figures == ["plot-change", *wanted, "plot-discovery", "plot-coverage", "plot-tiers"]
    assert page.tags.count("svg") == len(figures)
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_needs_no_script_and_nothing_from_elsewhere(whole):
    text, page = whole
    assert "script" not in page.tags
    outside = {"https://example.org/7", "data:,"}
    for href in page.hrefs:
        assert href.startswith("#") or href in outside or href == "findings/x.safetensors"
    assert "src=" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_every_link_into_the_page_finds_its_place(whole):
    _, page = whole
    inner = [href[1:] for href in page.hrefs if href.startswith("#")]
    assert set(inner) <= set(page.ids)
    assert {"finding-1", "finding-2"} <= set(inner)


def test_a_finding_is_told_in_full(whole):
    _, page = whole
    for part in (
        "consistent with a weight rounded to bfloat16",
        "1.4999 < exact < 1.5001",
        "0x1.8p+0",
        "50.000%",
        "error 2.5 ulp, 3 steps, bound 0.501 ulp",
        "python -m verify.replay out/x",
        "T=1 H=1 S=1 R=1 tile=1",
        "Known: https://example.org/7",
    ):
        assert part in page.text


def test_what_a_run_did_not_gather_is_said_and_not_drawn():
    text = to_html(report())
    page = Page(text)
    assert page.text.count("did not gather errors by number of segments and conditioning") == 2
    assert "changed" not in page.ids
    assert "Known faults" not in page.text
    assert "Findings None." in page.text
    assert page.text.startswith("PASS mla_merge")


@pytest.fixture
def _without_plots(monkeypatch):
    monkeypatch.setattr("reports.html.draw", lambda report, moved: {})


@pytest.mark.usefixtures("_without_plots")
def test_the_banner_does_not_pass_what_did_not():
    plain = report()
    for status, code, word in (("interrupted", 130, "INTERRUPTED"), ("nothing judged", 5, "NOTHING JUDGED")):
        text = to_html(report(run={**plain.run, "status": status, "exit_code": code}))
        assert f'<header class="banner bad" id="verdict">\n<h1>{word} mla_merge</h1>' in text
        assert "this is no verdict on the kernel" in text
    failed = to_html(report(run={**plain.run, "exit_code": 1}))
    assert "<h1>FAIL mla_merge</h1>" in failed
    assert '<header class="banner good" id="verdict">\n<h1>PASS' in to_html(plain)


def test_an_empty_report_is_a_page_too():
    plain = report(strata=(), coverage={"cases": {}})
    page = Page(to_html(report(**{**vars(plain), "run": {**plain.run, "status": "nothing judged"}})))
    assert page.text.count("Nothing was measured.") == 2


@pytest.mark.usefixtures("_without_plots")
def test_only_files_that_lie_there_and_only_web_addresses_are_links(tmp_path):
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "here.py").touch()
    (tmp_path / "findings" / "here.safetensors").touch()
    places = ["out/findings/here.safetensors", "out/findings/gone.safetensors", "/", "..", "a\0b"]
    findings = [finding(repro={"file": place, "sha256": "", "command": "c"}) for place in places]
    findings += [finding(issue="javascript:alert(1)"), finding(issue="https://example.org/'\">")]
    page = Page(to_html(report(findings=tuple(findings)), folder=tmp_path))
    links = [href for href in page.hrefs if not href.startswith(("#", "data:"))]
    assert links == ["findings/here.safetensors", "findings/here.py", "https://example.org/'\">"]
    assert "Known: javascript:alert(1)" in page.text


@pytest.mark.usefixtures("_without_plots")
def test_tables_are_cut_and_say_so():
    many = report(strata=tuple(stratum(f"f{i}", margin=0.5) for i in range(500)), findings=(finding(),) * 250)
    page = Page(to_html(many))
    assert "The 40 of 500 strata that failed or came nearest" in page.text
    assert "150 more are in report.json" in page.text
    assert sum(name.startswith("finding-") for name in page.ids) == 100
