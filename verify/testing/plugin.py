"""pytest plugin `mla-verify`: the fixture `merge_gate` runs a kernel's cases as one test.

    def test_merge(merge_gate):
        from my_kernels import merge
        merge_gate(merge)

pytest imports this module wherever the project is installed, so it must bring nothing: what needs torch is
imported when a test asks for the fixture.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from verify import complaint
from verify.campaign.profiles import PROFILES
from verify.cli.parsers import whole

if TYPE_CHECKING:
    from reports.records import Report

_PROPERTY = "mla-verify"
_FLAGS = ("profile", "seed", "bounds", "device")  # the options that verify.check takes
_LONGEST = 100  # of a folder's name, the end of what names the test
_FINDINGS = 5  # of a failing gate, written out
_MARKER = "merge_gate(profile=…, bounds=…, …): what the fixture merge_gate runs, as verify.check takes it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each beats what a test or its marker says, and the environment and pyproject.toml."""
    group = parser.getgroup("mla-verify", "certified checks of attention merges")
    group.addoption("--mla-profile", choices=tuple(PROFILES), help="size of a gate's run (default: smoke)")
    group.addoption("--mla-seed", type=whole(0), metavar="N", help="of the drawn cases (default: 0)")
    group.addoption("--mla-bounds", metavar="BOUNDS", help="default, fp32 or a file")
    group.addoption("--mla-device", choices=("cpu", "cuda"), help="default: cuda where there is one")
    group.addoption("--mla-kernel", metavar="KERNEL", help="kernel of the gates that name none")
    group.addoption("--mla-report", metavar="DIR", help="folder that gets a report for every gate")
    group.addoption(
        "--mla-require-device", metavar="NAME", help="fail unless the device's name or architecture has this"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what uses the fixture, so that `-m merge_gate` and `-m 'not merge_gate'` choose."""
    if "merge_gate" in getattr(item, "fixturenames", ()):
        item.add_marker("merge_gate")


@pytest.fixture
def merge_gate(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Report]:
    """Return a function that runs a kernel's cases and fails the test for any finding.

    It takes the kernel, a function or a name, and the keywords of `verify.check`, and returns the report.
    """
    return _Gate(request.node, request.config, tmp_path_factory)


class _Gate:
    """The fixture of one test."""

    def __init__(
        self, node: pytest.Item, config: pytest.Config, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        self._node = node
        self._config = config
        self._folders = tmp_path_factory
        self._calls = 0

    def __call__(self, kernel: Callable[..., Any] | str | None = None, **options: Any) -> Report:
        """Run the kernel's cases; the test fails unless all were judged and none showed a fault."""
        __tracebackhide__ = True
        if said := complaint():
            pytest.fail(said, pytrace=False)
        from reports.markdown import verdict_line  # noqa: PLC0415
        from verify import check  # noqa: PLC0415
        from verify.campaign.pool import InternalError  # noqa: PLC0415
        from verify.cli.config import UsageError  # noqa: PLC0415
        from verify.cli.required import device_complaint  # noqa: PLC0415

        chosen = self._chosen(options)
        known = inspect.signature(check).parameters
        unknown = [name for name in chosen if name not in known]
        if unknown:
            pytest.fail(f"merge_gate: no option {unknown[0]!r}; it takes {', '.join(known)}", pytrace=False)
        wrong, report = "", None
        try:
            wrong = device_complaint(self._flag("require_device"), chosen.get("device"))
            report = None if wrong else check(kernel or self._flag("kernel"), **chosen)
        except (UsageError, InternalError) as error:
            wrong = str(error)
        if report is None:
            pytest.fail(wrong, pytrace=False)
        verdict = verdict_line(report)
        self._node.user_properties.append((_PROPERTY, verdict))
        if report.run["exit_code"]:
            pytest.fail("\n".join(_failure(verdict, report, Path(chosen["out"]))), pytrace=False)
        return report

    def _flag(self, name: str) -> Any:
        return self._config.getoption(f"mla_{name}")

    def _chosen(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what the run is called with: flags beat the call, which beats the nearest marker."""
        chosen: dict[str, Any] = {"out": self._folder(), **_crowd()}
        for marker in reversed(list(self._node.iter_markers("merge_gate"))):
            chosen |= marker.kwargs
        flags = {name: self._flag(name) for name in _FLAGS}
        return chosen | options | {name: value for name, value in flags.items() if value is not None}

    def _folder(self) -> Path:
        """Return a folder for the report of this gate alone."""
        self._calls += 1
        name = re.sub(r"[^\w.-]+", "-", self._node.nodeid).strip("-")
        name = f"{name[-_LONGEST:]}-{self._calls}" if self._calls > 1 else name[-_LONGEST:]
        if self._flag("report") is None:
            return self._folders.mktemp("mla-verify", numbered=True) / name
        return Path(self._flag("report")) / name


def _crowd() -> dict[str, int]:
    """Share the cores with the other processes of pytest-xdist: each of them may run a gate of its own."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"workers": max(1, cores // count)} if count > 1 else {}


def _failure(verdict: str, report: Report, out: Path) -> Iterator[str]:
    from reports.markdown import finding_lines  # noqa: PLC0415

    yield verdict
    for finding in report.findings[:_FINDINGS]:
        yield f"\n{finding.kind} ({finding.similar} cases): {finding.message}"
        yield from ("  " + line for line in finding_lines(finding))
    if len(report.findings) > _FINDINGS:
        yield f"\n… and {len(report.findings) - _FINDINGS} more findings"
    yield f"\nreport: {out / 'report.json'} and {out / 'summary.md'}"
    yield from (f"note: {note}" for note in report.notes)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the verdict of every gate, of those that passed too: a pass says what it is worth."""
    said = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                verdicts = (text for name, text in report.user_properties if name == _PROPERTY)
                said += [f"{report.nodeid}: {verdict}" for verdict in verdicts]
    if said:
        terminalreporter.section("mla-verify")
        for line in said:
            terminalreporter.line(line)
