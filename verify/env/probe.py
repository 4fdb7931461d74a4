"""What a probe is: one question about the arithmetic of a backend, what it may answer, what hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from reports.records import Number

REFUSED = "refused"
"""The answer to every question about an operation that a backend does not run."""


class RefusedError(Exception):
    """A backend does not run an operation; the message is one line, its own words."""


class Engine(Protocol):
    """Something that computes: kernels of Triton, or operations of torch, on one device."""

    @property
    def name(self) -> str:
        """As it stands in a passport."""

    @property
    def operations(self) -> frozenset[str]:
        """The operations that it has; probes of others are not asked."""

    def compute(self, operation: str, *operands: Tensor, into: torch.dtype | None = None) -> Tensor:
        """Return one result for each element of the operands [N], in `into` or the first one's dtype.

        Operands and result are on the CPU, whatever device computes. Raises RefusedError.
        """

    def reduce(self, operation: str, rows: Tensor) -> Tensor:
        """Return one result [K] for each row of rows [K, N], N a power of two; as `compute` otherwise."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Operands at which an answer can be seen."""

    operands: tuple[Number, ...]
    """What went in."""
    got: Number
    """What came out."""
    right: Number | None = None
    """The correctly rounded result; None where no single one is right."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a backend answers to one question."""

    answer: str
    """One of the probe's answers, or REFUSED."""
    witness: Witness | None = None
    """None where it refused."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Numbers behind the answer by name, errors in ulp of the result's format, and what a refusal said."""


Find = Callable[[Engine, int], Answer]
"""Asks an engine, with a seed for what is drawn."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One question."""

    name: str
    """Short, the same for every engine."""
    question: str
    """In one sentence."""
    needs: frozenset[str]
    """The operations without which it is not asked."""
    answers: tuple[str, ...]
    """What may come out; first what is expected: by IEEE 754, or by the contract where that asks for more."""
    follows: str
    """What of a merge depends on the answer, in one sentence."""
    find: Find
    """Finds the answer; may raise RefusedError."""

    def ask(self, engine: Engine, seed: int) -> Answer:
        """Return the engine's answer; one that is none of `answers` is a ValueError."""
        try:
            found = self.find(engine, seed)
        except RefusedError as refusal:
            return Answer(answer=REFUSED, measured={"said": str(refusal)})
        if found.answer not in self.answers:
            raise ValueError(f"probe {self.name}: {found.answer!r} is none of {', '.join(self.answers)}")
        return found
