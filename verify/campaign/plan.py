"""What decides what a run does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.bounds import Bounds
from verify.campaign.profiles import Profile


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One of several runs that share the drawn cases: number n is of shard n mod `count`."""

    index: int = 0
    """0 … count − 1."""
    count: int = 1
    """Shards in all."""

    def __str__(self) -> str:
        """Write it as `--shard` takes it."""
        return f"{self.index}/{self.count}"

    def holds(self, number: int) -> bool:
        """Tell whether a case number is of this shard."""
        return number % self.count == self.index


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides what a run does."""

    kernel: str
    """As `--kernel` names it."""
    profile_name: str
    """Key of PROFILES."""
    profile: Profile
    """Size of the run."""
    budget_s: float | None
    """Seconds after which no new case is started."""
    max_cases: int | None
    """Number of drawn cases of all shards, instead of the profile's rounds and without a hunt."""
    seed: int
    """Of the drawn cases and of the hunt."""
    families: tuple[str, ...]
    """Families to draw; `corpus` and `hunt` among them for those streams."""
    dtypes: tuple[str, ...]
    """Output dtypes to draw."""
    laws: tuple[str, ...]
    """Laws to check, in turn."""
    shard: Shard
    """The share of the cases that this run takes."""
    device: str
    """`cpu` or `cuda`."""
    devices: tuple[str, ...]
    """The device of each worker process."""
    isolated: bool
    """Whether the kernel runs in processes of its own."""
    timeout_s: float
    """Seconds a single call of the kernel may take."""
    stop_at_first: bool
    """Stop at the first fault."""
    out: Path
    """Folder for the journal and the findings' cases."""
    resume: bool
    """Whether to go on from the journal that lies there."""
    bounds: Bounds
    """What to judge by."""
    convention: str
    """The layout and the meaning of the kernel's arguments and results, as `--convention` names it."""
    argv: tuple[str, ...]
    """The command line, for the report."""
    arguments: tuple[str, ...]
    """Every option that is not as it is by default, as a command line that needs nothing else."""
    config: dict[str, Any]
    """Every option with its source, for the report."""

    def identity(self) -> dict[str, Any]:
        """Return what two runs must have in common to be one that was interrupted."""
        return {
            "kernel": self.kernel,
            "profile": self.profile_name,
            "max_cases": self.max_cases,
            "seed": self.seed,
            "families": list(self.families),
            "dtypes": list(self.dtypes),
            "laws": list(self.laws),
            "shard": str(self.shard),
            "device": self.device,
            "bounds": self.bounds.sha256,
            "convention": self.convention,
        }
