"""How much a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The size of a run: turns of drawn rounds, each followed by a hunt."""

    rounds: int
    """Rounds over all combinations of family and dtype in a turn."""
    hunted: int
    """Cases that the hunt makes in a turn."""
    hunted_outputs: int
    """Most outputs of a hunted case on a GPU."""
    turns: int | None
    """Turns; None for as many as time allows."""
    budget_s: float | None
    """Seconds after which no new case is started; None for no limit. A given number of cases has none."""
    timeout_s: float
    """Seconds that one call may take before it is a hang."""
    purpose: str
    """For whom, in a few words."""


PROFILES = {
    "smoke": Profile(
        rounds=1,
        hunted=16,
        hunted_outputs=1 << 20,
        turns=1,
        budget_s=None,
        timeout_s=15.0,
        purpose="between two edits: every family, dtype and law",
    ),
    "quick": Profile(
        rounds=3,
        hunted=64,
        hunted_outputs=1 << 22,
        turns=1,
        budget_s=60.0,
        timeout_s=60.0,
        purpose="the default",
    ),
    "ci": Profile(
        rounds=20,
        hunted=320,
        hunted_outputs=1 << 20,
        turns=1,
        budget_s=None,
        timeout_s=120.0,
        purpose="a pull request: deterministic, no time limit",
    ),
    "nightly": Profile(
        rounds=2,
        hunted=1440,
        hunted_outputs=1 << 24,
        turns=None,
        budget_s=8 * 3600.0,
        timeout_s=120.0,
        purpose="search, 8 hours",
    ),
    "soak": Profile(
        rounds=2,
        hunted=1440,
        hunted_outputs=1 << 24,
        turns=None,
        budget_s=None,
        timeout_s=120.0,
        purpose="search until it is stopped",
    ),
}
