"""The options of all commands. A command takes its own from here; each knows the names of the others'."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import torch

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.github import MODES
from verify.bounds import Bounds, load_bounds
from verify.campaign.plan import Shard
from verify.campaign.profiles import PROFILES
from verify.campaign.schedule import CORPUS, HUNT
from verify.config import Option, Settings, UsageError, read_settings
from verify.launched import local_rank, parse_shard, shard_of_launch
from verify.laws import LAWS
from verify.ledger import Ledger, read_ledger
from verify.parsers import coordinates, one_of, seconds, some_of, switch, whole
from verify.speed.kernels import RANK, parse_shapes
from verify.speed.kernels import SHAPES as PRODUCTION
from verify.subjects.convention import SEGMENTS
from verify.subjects.load import NAMED
from verify.subjects.peers import CONVENTIONS

KERNEL = Option(
    name="kernel",
    parse=str,
    default="mla_merge",
    metavar="KERNEL",
    help=f"kernel under test: {', '.join(NAMED)}, pkg.mod:function or path/file.py:function",
)
CONVENTION = Option(
    name="convention",
    parse=one_of(tuple(CONVENTIONS)),
    default=SEGMENTS.name,
    metavar="NAME",
    help=f"form of the kernel's arguments and results: {', '.join(CONVENTIONS)}",
)
PROFILE = Option(
    name="profile",
    parse=one_of(tuple(PROFILES)),
    default="quick",
    help="size of the run: " + "; ".join(f"{name} ({p.purpose})" for name, p in PROFILES.items()),
)
BUDGET = Option(
    name="budget", parse=seconds, default=None, help="time after which no new case starts: 60s, 5m, 2h"
)
MAX_CASES = Option(
    name="max-cases",
    parse=whole(1),
    default=None,
    metavar="N",
    help="number of cases, instead of a profile's",
)
SEED = Option(
    name="seed", parse=whole(0), default=0, metavar="N", help="drawn case n is a pure function of (seed, n)"
)
_STREAMS = (CORPUS, *DRAWN, HUNT)
FAMILY = Option(
    name="family",
    parse=some_of(_STREAMS),
    default=_STREAMS,
    metavar="A,B",
    help="families of inputs to draw, corpus and hunt among them; --list names them",
)
LAW = Option(
    name="laws",
    parse=some_of(tuple(LAWS), or_none=True),
    default=tuple(LAWS),
    metavar="A,B",
    help="laws to check, or none; --list names them",
)
LAW_SEED = Option(
    name="law-seed",
    parse=whole(0),
    default=None,
    metavar="N",
    help="what the laws choose by; default: by the name of the case, as in a run",
)
BOUNDS = Option(
    name="bounds",
    parse=str,
    default="default",
    metavar="BOUNDS",
    help="what to judge by: default, fp32 for a merge that computes in float32, or a file",
)
SHARD = Option(
    name="shard",
    parse=parse_shard,
    default=Shard(),
    fallback=shard_of_launch,
    metavar="I/N",
    help="take drawn case n if n mod N is I; default: what torchrun, mpirun or Slurm says, else all",
)
ISOLATE = Option(
    name="isolate",
    parse=one_of(("on", "off")),
    default="on",
    help="off calls the kernel in this process, for a debugger; a crash or a hang is then the run's own",
)
RESUME = Option(
    name="resume",
    parse=Path,
    default=None,
    metavar="DIR",
    help="go on with the run whose --out was DIR, with its options; no judged case is lost or repeated",
)
DTYPE = Option(
    name="dtype",
    parse=some_of(tuple(FORMATS)),
    default=tuple(FORMATS),
    metavar="A,B",
    help="output dtypes to ask for",
)
DEVICE = Option(
    name="device",
    parse=one_of(("cpu", "cuda")),
    default=None,
    help="cpu runs Triton kernels in the interpreter; default: cuda where there is one",
)
WORKERS = Option(
    name="workers", parse=str, default="auto", metavar="N", help="processes; auto: one per core or GPU"
)
TIMEOUT = Option(
    name="timeout",
    parse=seconds,
    default=None,
    metavar="S",
    help="time one call may take before it is a hang, compiling apart; default: by the profile",
)
OUT = Option(name="out", parse=Path, default=Path("out"), metavar="DIR", help="folder for the report")
JSON = Option(
    name="json", parse=str, default=None, metavar="PATH", help="write report.json here too; - for stdout"
)
HTML = Option(
    name="html", parse=Path, default=None, metavar="PATH", help="write the report as one page with plots"
)
JUNIT = Option(
    name="junit",
    parse=Path,
    default=None,
    metavar="PATH",
    help="write the report as JUnit XML, for a CI system",
)
GITHUB = Option(
    name="github",
    parse=one_of(MODES),
    default="auto",
    help="add to the step's summary and annotate the run; auto: inside a GitHub workflow",
)
EXITFIRST = Option(name="exitfirst", parse=switch, default=False, short="x", help="stop at the first fault")
LIST = Option(name="list", parse=switch, default=False, help="list families and dtypes and stop")
QUIET = Option(name="quiet", parse=switch, default=False, short="q", help="print the verdict alone")
VERBOSE = Option(name="verbose", parse=switch, default=False, short="v", help="print the table of strata too")
AT = Option(
    name="at",
    parse=coordinates,
    default=None,
    metavar="TOKEN,HEAD[,COLUMN]",
    help="explain this output too, or this lse, with the enclosure that proves it",
)
SHRINK = Option(
    name="shrink", parse=switch, default=False, help="reduce the case to the least that shows its first fault"
)
TO_TEST = Option(
    name="to-test",
    parse=switch,
    default=False,
    help="print a pytest module that judges the kernel by the case",
)

SHAPES = Option(
    name="shapes",
    parse=parse_shapes,
    default=PRODUCTION,
    metavar="T,H,S,ACTIVE;…",
    help=f"what to merge, R = {RANK}; default: {len(PRODUCTION)} shapes of production",
)
ORACLE = Option(
    name="oracle", parse=switch, default=False, help="measure the oracle instead, beside a plain mpmath loop"
)
ACCURACY = Option(
    name="accuracy",
    parse=whole(1),
    default=None,
    metavar="N",
    help="judge N outputs of every dtype instead, on producer-domain data",
)
GATES = Option(
    name="gates",
    parse=switch,
    default=False,
    help="show the museum to four public gates too, and write what they notice beside this suite",
)
LEDGER = Option(
    name="ledger",
    parse=Path,
    default=None,
    metavar="FILE",
    help="known findings, each waived by its id with an issue and a date of review; a stale waiver fails",
)
BASELINE = Option(
    name="baseline",
    parse=Path,
    default=None,
    metavar="REPORT",
    help="report.json that no stratum may be worse than, or be missing from what is judged",
)
REQUIRE_DEVICE = Option(
    name="require-device",
    parse=str,
    default=None,
    metavar="NAME",
    help="fail unless the kernel ran there: cuda for any GPU, or a part of the device's name",
)
MIN_OUTPUTS = Option(
    name="min-outputs",
    parse=whole(1),
    default=1_000_000,
    metavar="N",
    help="fail if fewer outputs were judged",
)
UPDATE_BOUNDS = Option(
    name="update-bounds",
    parse=switch,
    default=False,
    help="tighten the measured bounds to what came out; never loosens one",
)
LOOSEN = Option(
    name="loosen",
    parse=str,
    default=None,
    metavar="REASON",
    help="let --update-bounds loosen measured bounds too, and write the reason beside each",
)

PROBE = Option(
    name="probe",
    parse=lambda text: tuple(part.strip() for part in text.split(",")),
    default=(),
    metavar="A,B",
    help="probes to sweep; default: all; --list names them",
)
FULL = Option(
    name="full",
    parse=switch,
    default=False,
    help="sweep every point on a CPU too; it takes days, and --resume goes on",
)
SUBSET = Option(
    name="subset", parse=switch, default=False, help="sweep a GPU's points no denser than a CPU's"
)

_NAMES = frozenset(value.name for value in list(globals().values()) if isinstance(value, Option))


def settings_of(
    command: str,
    purpose: str,
    options: Sequence[Option],
    argv: Sequence[str] | None,
    positional: str | None = None,
) -> Settings:
    """Read the settings of one command; raises and exits as `read_settings` does."""
    return read_settings(f"python -m verify.{command}", purpose, options, argv, _NAMES, positional)


def device_of(settings: Settings) -> str:
    """Return the device that is asked for, else cuda where there is one; UsageError when it is not there."""
    has_gpu = torch.cuda.is_available()
    device: str = settings["device"] or ("cuda" if has_gpu else "cpu")
    if device == "cuda" and not has_gpu:
        raise UsageError(
            "--device cuda: torch sees no GPU here; leave it out to use the interpreter on the CPU"
        )
    return device


def devices_of(settings: Settings, device: str) -> tuple[str, ...]:
    """Return the device of each worker process; UsageError when the number of workers is none.

    On CPUs there is one for each core, on GPUs one for each that is visible; started by a launcher that
    counts its processes on this machine, each has one GPU.
    """
    text = settings["workers"]
    if device == "cpu":
        return ("cpu",) * workers_of(settings)
    visible, local = torch.cuda.device_count(), local_rank()
    workers = (visible if local is None else 1) if text == "auto" else workers_of(settings)
    return tuple(f"cuda:{((local or 0) + worker) % visible}" for worker in range(workers))


def bounds_of(settings: Settings) -> Bounds:
    """Return the bounds to judge by; UsageError where the file is none."""
    try:
        return load_bounds(settings["bounds"])
    except (OSError, ValueError) as error:
        raise UsageError(f"--bounds: {error}") from None


def ledger_of(settings: Settings) -> Ledger | None:
    """Return the known findings; None without a ledger, UsageError where the file is none."""
    if settings["ledger"] is None:
        return None
    try:
        return read_ledger(settings["ledger"])
    except ValueError as error:
        raise UsageError(f"--ledger: {error}") from None


def workers_of(settings: Settings) -> int:
    """Return the number of processes that was asked for, one for each core otherwise; UsageError if none."""
    text = settings["workers"]
    if text == "auto":
        return _cores()
    try:
        return whole(1)(text)
    except ValueError as error:
        raise UsageError(f"--workers: {error}, nor auto") from None


def _cores() -> int:
    # Those this process may use, where the system can tell; a container often grants fewer than there are.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
