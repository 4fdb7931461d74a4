"""Where a kernel is called: the process is prepared, the kernel loaded, and one job after the other run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np
import torch

from fuzz.case import MergeCase
from fuzz.recipe import Recipe, expand
from verify.bounds import Bounds
from verify.campaign.compiling import CompileClock
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.trial import Bench, flushes_subnormals
from verify.oracle.values import Exact
from verify.subjects.convention import SEGMENTS
from verify.subjects.load import Subject, load_subject
from verify.subjects.peers import CONVENTIONS


class Stage(Enum):
    """What the process of a kernel is doing."""

    STARTING = auto()
    """Importing the suite."""
    LOADING = auto()
    """Importing the kernel."""
    IDLE = auto()
    """Waiting for a case."""
    PREPARING = auto()
    """Expanding the case and moving it to the device."""
    CALLING = auto()
    """In the kernel."""
    COMPILING = auto()
    """In Triton's compiler, called by the kernel."""
    JUDGING = auto()
    """In oracle, judge and laws, the call being over."""


@dataclass(frozen=True, kw_only=True)
class StationSettings:
    """What a station needs to know."""

    kernel: str
    """As `--kernel` names it."""
    device: str
    """`cpu`, `cuda` or, where there are several, `cuda:1`."""
    cores: int
    """Cores that the process may use: for torch, and for the oracle's exact tier."""
    bounds: Bounds
    """What to judge by."""
    convention: str = SEGMENTS.name
    """As `--convention` names it."""


class Station:
    """A kernel, loaded and ready in this process."""

    def __init__(
        self, settings: StationSettings, enter: Callable[[Stage], None] = lambda stage: None
    ) -> None:
        """Load the kernel; SubjectError when it cannot be. `enter` is told of the stages of every job."""
        self._device = settings.device
        # As on a GPU: NaN and overflow are what many cases are about, and numpy would warn of each.
        np.seterr(all="ignore")
        if settings.device == "cpu":
            os.environ["TRITON_INTERPRET"] = "1"
        else:
            os.environ.pop("TRITON_INTERPRET", None)
            device = torch.device(settings.device)
            if device.index is not None:
                torch.cuda.set_device(device)
        torch.set_num_threads(settings.cores)
        self.subject = load_subject(settings.kernel, CONVENTIONS[settings.convention])
        self._clock = CompileClock(lambda: enter(Stage.COMPILING), lambda: enter(Stage.CALLING))
        self._clock.watch()
        # A library built with -ffast-math switches when it is loaded; its calls must run as elsewhere.
        flushing = flushes_subnormals()
        torch.set_flush_denormal(False)
        self._bench = Bench(
            self.subject,
            settings.bounds,
            cores=settings.cores,
            flushing=flushing,
            calling=lambda: enter(Stage.CALLING),
            returned=lambda: enter(Stage.JUDGING),
        )

    def run(self, job: Job) -> Outcome:
        """Run one job."""
        case = (
            expand(job.input, self._device) if isinstance(job.input, Recipe) else job.input.to(self._device)
        )
        return self.run_prepared(job, case)

    def run_prepared(self, job: Job, case: MergeCase, exact: Exact | None = None) -> Outcome:
        """Run one job whose case is on the device already, with its exact values where they are known."""
        return replace(self._bench.run(job, case, exact), compile_s=self._clock.taken())


def described(subject: Subject) -> dict[str, Any]:
    """Return what a report says of the kernel."""
    return {
        "name": subject.name,
        "import_path": subject.import_path,
        "source_sha256": subject.source_sha256,
        "declared": subject.capabilities.record(),
        "convention": subject.convention.name,
    }
