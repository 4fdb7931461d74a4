"""What may have gone wrong: a sentence, and what it predicts of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verify.diagnosis.merge import Prediction, Setting

Predict = Callable[[Setting], Iterator[Prediction]]


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One thing that may have gone wrong."""

    says: str
    """Ends `consistent with …`."""
    predict: Predict
    """Gives the results that it leads to; none where it does not apply, several where it leaves a choice."""


def hypothesis(says: str) -> Callable[[Predict], Hypothesis]:
    """Make a hypothesis of the function that predicts its results."""

    def made(predict: Predict) -> Hypothesis:
        return Hypothesis(says=says, predict=predict)

    return made
