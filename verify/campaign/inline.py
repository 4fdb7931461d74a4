"""Run jobs in this process, for debugging: a debugger reaches the kernel, and so does whatever it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.campaign.environment import relevant_variables
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.station import Station, StationSettings, described


class Inline:
    """Does what a Pool does, without its protection: a crash or a hang is this process's own."""

    def __init__(self, settings: StationSettings) -> None:
        self._settings = settings
        self.subject: dict[str, Any] = {}
        self.variables: dict[str, str] = {}

    def __enter__(self) -> Inline:
        """Load the kernel; SubjectError when it cannot be loaded."""
        self._station = Station(self._settings)
        self.subject, self.variables = described(self._station.subject), relevant_variables()
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to end."""

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Yield the outcome of every job, in order."""
        return (self._station.run(job) for job in jobs)

    def run_one(self, job: Job) -> Outcome:
        """Run a single job."""
        return self._station.run(job)
