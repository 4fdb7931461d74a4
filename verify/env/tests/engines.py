"""Engines with known faults, for probes to name: torch, but for one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from verify.env.in_torch import TorchEngine
from verify.env.probe import Answer, Witness
from verify.env.registry import PROBES

HONEST = TorchEngine("cpu")


@dataclass(frozen=True)
class Spoilt:
    """Computes some operations in a way of its own; each takes the operands and the dtype of the result."""

    own: Mapping[str, Callable[..., Tensor]]
    name: str = "spoilt"
    operations: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", HONEST.operations | frozenset(self.own))

    def compute(self, operation: str, *operands: Tensor, into: torch.dtype | None = None) -> Tensor:
        if operation in self.own:
            return self.own[operation](*operands, into or operands[0].dtype)
        return HONEST.compute(operation, *operands, into=into)

    def reduce(self, operation: str, rows: Tensor) -> Tensor:
        return self.own[operation](rows) if operation in self.own else HONEST.reduce(operation, rows)


def ask(probe: str, own: Mapping[str, Callable[..., Tensor]]) -> Answer:
    """Ask one probe of an engine with these faults."""
    return PROBES[probe].ask(Spoilt(own), 0)


def seen(answer: Answer) -> Witness:
    """Return the witness of an answer that has one."""
    assert answer.witness is not None
    return answer.witness
