"""`python -m verify.env`: what a run is made on; with --probe, how that computes: its numerics passport."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from reports.serialize import write_text
from verify.campaign.environment import describe_environment, describe_tool, relevant_variables
from verify.campaign.progress import progress_shown
from verify.cli.config import Option, Settings, UsageError
from verify.cli.exits import CLEAN, NOTHING_JUDGED, guarded, say
from verify.cli.options import DEVICE, JSON, QUIET, SEED
from verify.cli.parsers import switch
from verify.cli.settings import device_of, settings_of
from verify.cli.targets import check_writable
from verify.env.in_torch import TorchEngine
from verify.env.page import environment_lines, passport_lines, verdict
from verify.env.passport import Passport, ask_all, to_json
from verify.env.probe import REFUSED, Engine
from verify.env.registry import PROBES
from verify.sweep.registry import PROBES as SWEPT

SCHEMA = "mla-merge-environment/1"


def _asked(text: str) -> bool:
    """Parse the switch; names of probes are the sweep's setting of the same name, and ask nothing here."""
    return not all(part.strip() in SWEPT for part in text.split(",")) and switch(text)


ASK = Option(
    name="probe",
    parse=_asked,
    default=False,
    help="ask the device how it computes, with small kernels and operations of torch: its passport",
)
_FILE = replace(JSON, help="write the environment, or the passport, here as JSON; - for stdout, and no text")
_SEED = replace(SEED, help="what points are drawn by; passports of one seed can be compared")
OPTIONS = (ASK, DEVICE, _SEED, _FILE, QUIET)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("env", __doc__ or "", OPTIONS, argv)
    device = device_of(settings)
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # as in the processes that run kernels there; this is one
    _check_file(settings)
    mode = "interpret" if os.environ.get("TRITON_INTERPRET", "0") != "0" else "device"
    environment, tool = describe_environment(device, relevant_variables()), describe_tool()
    if not settings["probe"]:
        body = {"schema": SCHEMA, "tool": tool, "mode": mode, "environment": environment}
        _tell(settings, environment_lines(environment, mode, tool), json.dumps(body, indent=1) + "\n")
        return CLEAN
    engines = (_triton(device), TorchEngine(device))
    with progress_shown(quiet=settings["quiet"]) as progress:
        entries = tuple(ask_all(engines, tuple(PROBES.values()), settings["seed"], progress))
    passport = Passport(tool=tool, environment=environment, mode=mode, seed=settings["seed"], entries=entries)
    lines = (*environment_lines(environment, mode, tool), *passport_lines(passport), "")
    _tell(settings, (*(() if settings["quiet"] else lines), verdict(passport)), to_json(passport))
    return CLEAN if any(entry.answer != REFUSED for entry in entries) else NOTHING_JUDGED


def _triton(device: str) -> Engine:
    """Return the kernels; imported now, since Triton reads its variable when it is imported."""
    if importlib.util.find_spec("triton") is None:
        raise UsageError(
            "--probe: triton is not installed, and a passport is of its kernels: install '.[cpu]'"
        )
    engine: Engine = import_module("verify.env.in_triton").TritonEngine(device)
    return engine


def _check_file(settings: Settings) -> None:
    """Raise UsageError where the file to write cannot be one, before any time is spent."""
    file = settings["json"]
    if file in (None, "-"):
        return
    if Path(file).is_dir() or not Path(file).name:
        raise UsageError(f"--json {file!r}: wanted the name of a file, or -")
    check_writable(Path(file).parent, "--json")


def _tell(settings: Settings, lines: Iterable[str], text: str) -> None:
    """Print the lines, and write the text where it is wanted: to stdout alone, it takes their place."""
    if settings["json"] == "-":
        say(text.removesuffix("\n"))
        return
    if settings["json"] is not None:
        try:
            write_text(Path(settings["json"]), text)
        except OSError as error:
            raise UsageError(f"--json {settings['json']}: {error.strerror}; name another file") from None
    for line in lines:
        say(line)


if __name__ == "__main__":
    sys.exit(main())
