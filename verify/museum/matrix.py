"""The kill matrix: every piece of the museum on the cases of a run, and what noticed what."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from multiprocessing import get_context

from fuzz.recipe import Recipe, expand
from verify.bounds import load_bounds
from verify.campaign.archive import Archive
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.plan import Plan
from verify.campaign.pool import Pool
from verify.campaign.schedule import Schedule
from verify.campaign.station import Station, StationSettings
from verify.campaign.trial import solve
from verify.museum.exhibit import Exhibit, Need, Piece, Sound

_INTERPRETED, _ANY = 16, 1 << 20


@dataclass(kw_only=True)
class Kills:
    """What noticed one piece."""

    first: dict[str, str] = field(default_factory=dict)
    """Detector → the first case that it spoke on, in the order in which they spoke."""
    seconds: float = 0.0
    """Seconds in kernel, judge and laws until the first of them spoke, or in all where none did."""
    cases: int = 0
    """Cases that it was run on."""

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Take what one case showed."""
        self.cases += 1
        self.seconds += 0.0 if self.first else seconds
        for fault in outcome.faults:
            self.first.setdefault(fault.detector, outcome.case)


def kill_matrix(pieces: Mapping[str, Piece], plan: Plan) -> dict[str, Kills]:
    """Run the pieces on the plan's corpus and drawn cases; those that end their process until they first do.

    The cases are expanded and solved once for all pieces of a process.
    """
    calm = [name for name, piece in pieces.items() if not _ends_process(piece)]
    shares = [calm[start :: len(plan.devices)] for start in range(len(plan.devices))]
    work = [(plan, {name: _settings(pieces[name], plan) for name in share}) for share in shares if share]
    found: dict[str, Kills] = {}
    with ProcessPoolExecutor(max(1, len(work)), mp_context=get_context("spawn")) as executor:
        futures = [executor.submit(_tour, *args, _most(pieces, plan.device)) for args in work]
        for name, piece in pieces.items():
            if _ends_process(piece):
                found[name] = _last_call(piece, plan)
        for future in futures:
            found |= future.result()
    return {name: found[name] for name in pieces}


def worthwhile(piece: object, job: Job, kills: Kills) -> Job | None:
    """Return what of a case can still add to what is known of a piece; None for nothing.

    A sound kernel is shown everything. Of a fault's label each detector has to speak once, and those that are
    not on it have nothing to say: a law that has spoken, or is not on the label, is not checked, and a case
    that is left without a law is shown only while another detector of the label is silent.
    """
    if not isinstance(piece, Exhibit):
        return job
    silent = set(piece.detectors) - set(kills.first)
    laws = tuple(law for law in job.laws if f"law {law}" in silent)
    others = any(not detector.startswith("law ") for detector in silent)
    return replace(job, laws=laws) if laws or others else None


def missing(piece: Piece, device: str, *, triton: bool) -> str:
    """Return what this machine lacks to run a piece; empty for nothing."""
    if Need.GPU in piece.needs and device != "cuda":
        return "a GPU"
    return "triton" if Need.TRITON in piece.needs and not triton else ""


def _ends_process(piece: Piece) -> bool:
    return isinstance(piece, Exhibit) and piece.ends_process


def _most(pieces: Mapping[str, Piece], device: str) -> dict[str, tuple[int, int]]:
    """Return how many outputs and rows of a case the slow pieces are given."""
    slow = {}
    for name, piece in pieces.items():
        # There is a program for each row, and the interpreter takes 10 ms for each.
        interpreted = Need.TRITON in piece.needs and device == "cpu"
        outputs = piece.outputs if isinstance(piece, Sound) else None
        if interpreted or outputs is not None:
            most = _ANY if outputs is None else outputs
            slow[name] = most, _INTERPRETED if interpreted else most
    return slow


def _settings(piece: Piece, plan: Plan) -> StationSettings:
    # A fault is judged by the default bounds, a sound kernel by those that it keeps.
    bounds = load_bounds(piece.bounds) if isinstance(piece, Sound) else plan.bounds
    return StationSettings(kernel=piece.path, device=plan.devices[0], cores=1, bounds=bounds)


def _jobs(plan: Plan) -> Iterator[Job]:
    return chain.from_iterable(Schedule(plan, Archive()).batches())


def _tour(
    plan: Plan, pieces: Mapping[str, StationSettings], most: Mapping[str, tuple[int, int]]
) -> dict[str, Kills]:
    """Show the cases to the pieces, to each as long as one can add something."""
    stations = {name: Station(settings) for name, settings in pieces.items()}
    found = {name: Kills() for name in pieces}
    for job in _jobs(plan):
        case = expand(job.input, plan.device) if isinstance(job.input, Recipe) else job.input.to(plan.device)
        exact = solve(case, 1)
        for name, station in stations.items():
            outputs, rows = most.get(name, (case.outputs, case.T * case.H))
            left = worthwhile(station.subject.merge, job, found[name])
            if left is not None and case.outputs <= outputs and rows >= case.T * case.H:
                begun = time.perf_counter()
                outcome = station.run_prepared(left, case, exact)
                found[name].add(outcome, time.perf_counter() - begun)
    return found


def _last_call(piece: Piece, plan: Plan) -> Kills:
    """Show cases to a piece in a worker of its own, those of its label first, until it has ended that."""
    assert isinstance(piece, Exhibit)
    kills = Kills()
    jobs = sorted(_jobs(plan), key=lambda job: job.family not in piece.families)
    with Pool([_settings(piece, plan)], plan.timeout_s) as pool:
        begun = time.perf_counter()
        for job in jobs:
            outcome = pool.run_one(job)
            kills.add(outcome, time.perf_counter() - begun)
            begun = time.perf_counter()
            if kills.first:
                break
    return kills
