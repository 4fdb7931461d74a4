"""All renderings of a report as files. The page needs jinja2 and matplotlib; everything else goes without."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from reports import github
from reports.junit import to_junit
from reports.markdown import to_markdown
from reports.records import Report
from reports.serialize import write_text

_PAGE = "reports.html"  # imported when it is wanted: it needs what may be missing


def missing_for_html() -> str:
    """Return why the page cannot be drawn here and what to do about it, in one line; empty when it can be."""
    try:
        importlib.import_module(_PAGE)
    except ImportError as error:
        why = " ".join(str(error).split())
        return f"the HTML page needs jinja2 and matplotlib ({why}); install them, or the extra `report`"
    return ""


def write_html(report: Report, file: Path, baseline: Report | None = None) -> None:
    """Write the page; ImportError where `missing_for_html` says something, OSError from the file."""
    page = importlib.import_module(_PAGE)
    write_text(file, page.to_html(report, baseline, file.parent))


def write_renderings(report: Report, folder: Path, baseline: Report | None = None) -> tuple[list[Path], str]:
    """Write summary.md, junit.xml and report.html; return the files, and why the page is not among them."""
    files = [folder / "summary.md", folder / "junit.xml"]
    write_text(files[0], to_markdown(report, baseline))
    write_text(files[1], to_junit(report))
    missing = missing_for_html()
    if not missing:
        files.append(folder / "report.html")
        write_html(report, files[-1], baseline)
    return files, missing


def publish(
    report: Report,
    *,
    html: Path | None = None,
    junit: Path | None = None,
    to_github: str = "off",
    baseline: Report | None = None,
    environment: Mapping[str, str],
) -> list[str]:
    """Write what a command was asked for; return the lines that GitHub is to read on stderr.

    `to_github` is one of `github.MODES`, `environment` the process's. Raises as `write_html` does.
    """
    if html is not None:
        write_html(report, html, baseline)
    if junit is not None:
        write_text(junit, to_junit(report))
    if not github.wanted(to_github, environment):
        return []
    github.add_summary(report, environment, baseline)
    return github.annotate(report)
