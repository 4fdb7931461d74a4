"""The files that a command is asked to write: what is wrong with one is said before hours of work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.render import missing_for_html
from verify.cli.config import Settings, UsageError
from verify.cli.launched import shard_of_launch


def check_targets(settings: Settings, flags: Sequence[str]) -> None:
    """Raise UsageError where one of these flags names what cannot be written, of `json`, `junit`, `html`."""
    several = "shard" in settings and shard_of_launch() is not None and settings["shard"].count > 1
    for flag in flags:
        if settings[flag] is None or (flag == "json" and settings[flag] == "-"):
            continue
        target = Path(settings[flag])
        if target.is_dir() or not target.name:
            raise UsageError(
                f"--{flag} {str(target)!r}: wanted the name of a file{', or -' * (flag == 'json')}"
            )
        check_writable(target.parent, f"--{flag}")
        if several:
            raise UsageError(
                f"--{flag} {str(target)!r}: every process of the launcher would write it; leave it out, each "
                f"writes its report below --out, and `python -m reports combine` makes one of them"
            )
    if settings["html"] is not None and (missing := missing_for_html()):
        raise UsageError(f"--html: {missing}")


def check_writable(folder: Path, flag: str) -> None:
    """Make the folder, where there is none; UsageError, naming the flag, where nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"{flag} {folder}: cannot write there ({error.strerror}); name another folder"
        ) from None
