"""`python -m reports`: combine the reports of shards, or render a report, on a machine without torch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from reports.combine import combine
from reports.markdown import to_markdown, verdict_line
from reports.records import Report
from reports.render import write_renderings
from reports.serialize import read_report, to_json, write_text

USAGE, DAMAGED = 2, 3
"""Exit codes: a mistake in the command, or a file that holds no whole report."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"error: {message}; `{self.prog} --help` lists the options", file=sys.stderr)
        raise SystemExit(USAGE)


class _DamagedError(Exception):
    """A file that holds no whole report; the message is one line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = _parser().parse_args(argv)
    try:
        return _combine(given) if given.command == "combine" else _render(given)
    except _DamagedError as error:
        print(f"error: {error}", file=sys.stderr)
        return DAMAGED
    except RecursionError:
        print("error: a report is nested too deeply to be read and written again", file=sys.stderr)
        return DAMAGED
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return USAGE
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m reports", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    together = commands.add_parser(
        "combine", allow_abbrev=False, help="write the report of a run out of the reports of its shards"
    )
    together.add_argument("reports", nargs="+", type=Path, metavar="R", help="report.json of a shard")
    together.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder (default: out)"
    )
    together.add_argument(
        "--partial", action="store_true", help="allow shards to be missing; a note says which"
    )
    render = commands.add_parser(
        "render", allow_abbrev=False, help="write summary.md, junit.xml and report.html beside a report"
    )
    render.add_argument("report", type=Path, metavar="R", help="report.json of a run")
    render.add_argument(
        "--baseline", type=Path, metavar="B", help="earlier report.json: show what changed since"
    )
    render.add_argument("--out", type=Path, metavar="DIR", help="folder (default: that of the report)")
    return parser


def _combine(given: argparse.Namespace) -> int:
    target = given.out / "report.json"
    if any(file.resolve() == target.resolve() for file in given.reports):
        raise ValueError(f"{target} is one of the reports to combine; name another folder with --out")
    whole = combine([_read(file) for file in given.reports], partial=given.partial)
    write_text(target, to_json(whole))
    write_text(given.out / "summary.md", to_markdown(whole))
    for note in whole.notes:
        print(f"note: {note}", file=sys.stderr)
    _say(f"report: {target} and {given.out / 'summary.md'}\n{verdict_line(whole)}")
    return int(whole.run["exit_code"])


def _render(given: argparse.Namespace) -> int:
    report = _read(given.report)
    baseline = _read(given.baseline) if given.baseline is not None else None
    folder = given.out if given.out is not None else given.report.parent
    files, missing = write_renderings(report, folder, baseline)
    if missing:
        print(f"note: {missing}", file=sys.stderr)
    _say(f"rendered: {', '.join(map(str, files))}\n{verdict_line(report)}")
    return 0


def _read(file: Path) -> Report:
    try:
        return read_report(file)
    except ValueError as error:
        raise _DamagedError(error) from None


def _say(text: str) -> None:
    """Print; when the reader has left (`| head`), what counts is in the files and the exit code."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, errors="backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
