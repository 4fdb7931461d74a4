"""The options that commands share; those of one command alone are in `special.py`."""

from __future__ import annotations

from pathlib import Path

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.github import MODES
from verify.campaign.plan import Shard
from verify.campaign.profiles import PROFILES
from verify.campaign.schedule import CORPUS, HUNT
from verify.cli.config import Option
from verify.cli.launched import parse_shard, shard_of_launch
from verify.cli.parsers import one_of, seconds, some_of, switch, whole
from verify.laws import LAWS
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
