"""The options of the gate: those of the run that it makes, and its own."""

from __future__ import annotations

from dataclasses import replace

from verify.cli.options import (
    BOUNDS,
    BUDGET,
    CONVENTION,
    DEVICE,
    DTYPE,
    FAMILY,
    GITHUB,
    HTML,
    ISOLATE,
    JUNIT,
    KERNEL,
    LAW,
    MAX_CASES,
    OUT,
    PROFILE,
    QUIET,
    SEED,
    TIMEOUT,
    WORKERS,
)
from verify.cli.special import BASELINE, LEDGER, LOOSEN, MIN_OUTPUTS, REQUIRE_DEVICE, UPDATE_BOUNDS

RUN = (
    KERNEL,
    CONVENTION,
    replace(PROFILE, default="ci"),
    BUDGET,
    MAX_CASES,
    LAW,
    SEED,
    FAMILY,
    DTYPE,
    DEVICE,
    WORKERS,
    ISOLATE,
    TIMEOUT,
    OUT,
)
"""What a run is made with; of a report that is there already none of them can be said any more."""

OWN = (LEDGER, BASELINE, MIN_OUTPUTS, REQUIRE_DEVICE, UPDATE_BOUNDS, LOOSEN, HTML, JUNIT, GITHUB, QUIET)
FILES = ("html", "junit")
OPTIONS = (*RUN, BOUNDS, *OWN)
