"""The report of a run that another command makes: that run's own, never what an earlier one left there."""

from __future__ import annotations

from pathlib import Path

from reports.records import Report
from reports.serialize import read_report
from verify.campaign.pool import InternalError
from verify.cli.config import UsageError

ALONE = "--shard=0/1"
"""What makes the run a whole one, whatever a launcher or the environment says."""


def cleared(out: Path) -> Path:
    """Return the place of the report in a folder, with nothing there; UsageError where what is cannot go."""
    file = out / "report.json"
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: report.json cannot be replaced ({error.strerror})") from None
    return file


def written(file: Path) -> Report:
    """Read what the run wrote; UsageError where it wrote none, InternalError where that is not whole."""
    try:
        return read_report(file)
    except FileNotFoundError:
        raise UsageError(
            f"the run wrote no {file}: the environment or pyproject.toml sets list or resume; unset it"
        ) from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InternalError(str(error)) from None
