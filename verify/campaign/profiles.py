"""How much a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The size of a run."""

    rounds: int
    """Rounds over all combinations of family and dtype."""
    budget_s: float | None
    """Seconds after which no new case is started; None for no limit. A given number of cases has none."""
    purpose: str
    """For whom, in a few words."""


PROFILES = {
    "smoke": Profile(rounds=1, budget_s=None, purpose="between two edits: every family and dtype once"),
    "quick": Profile(rounds=6, budget_s=60.0, purpose="the default"),
    "ci": Profile(rounds=20, budget_s=None, purpose="a pull request: deterministic, no time limit"),
}
