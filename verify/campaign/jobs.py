"""What a run asks its workers to do: one case each, with the laws to check on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from fuzz.case import MergeCase
from fuzz.recipe import Recipe

EXPLICIT = "explicit"
"""The family of a case that no recipe made and no stream contains."""


class Stream(StrEnum):
    """Where a run's cases come from."""

    CORPUS = "corpus"
    """Cases kept from earlier findings, replayed first."""
    DRAWN = "drawn"
    """Case n is a pure function of seed and n."""
    HUNT = "hunt"
    """Mutants of the worst cases so far."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One case to run."""

    name: str
    """The case as verify.replay takes it, where that can name it: SEED/NUMBER, or a file."""
    input: Recipe | MergeCase
    """A recipe that the worker expands, or an explicit case on the CPU."""
    stream: Stream | None = None
    """The stream that the case is of; None for one from outside a run."""
    rank: int = 0
    """Its place among the cases of all shards together."""
    laws: tuple[str, ...] = ()
    """Laws to check on it, keys of verify.laws.LAWS."""
    seed: int = 0
    """Of what the laws choose; the same while a case is shrunk and when it is replayed."""

    diagnose: bool = False
    """Whether to ask what its faults are consistent with."""

    @property
    def family(self) -> str:
        """The family under which it is counted: a stream of its own, or what the recipe says."""
        if self.stream in (Stream.CORPUS, Stream.HUNT):
            return self.stream.value
        return self.input.family if isinstance(self.input, Recipe) else EXPLICIT

    @property
    def dtype(self) -> str:
        """Output dtype."""
        return self.input.dtype if isinstance(self.input, Recipe) else self.input.out_dtype


def seed_of(name: str) -> int:
    """Return the seed with which the laws are checked on a case of that name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
