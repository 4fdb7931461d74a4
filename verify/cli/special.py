"""The options of one command alone; those that commands share are in `options.py`."""

from __future__ import annotations

from pathlib import Path

from fuzz.production import RANK, parse_shapes
from fuzz.production import SHAPES as PRODUCTION
from verify.cli.config import Option
from verify.cli.parsers import coordinates, some_of, switch, whole

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
TARGET = Option(
    name="target",
    parse=some_of(("sm_80", "sm_90", "sm_100", "gfx942", "gfx950", "gfx1201")),
    default=("sm_80", "sm_90", "sm_100", "gfx942", "gfx950", "gfx1201"),
    metavar="A,B",
    help="architectures to compile for; --list names them",
)
