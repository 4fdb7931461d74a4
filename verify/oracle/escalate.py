"""The last tier: what the vectorised tiers hand on, by exact integers, in several processes if it is much."""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.oracle.dyadic import to_units
from verify.oracle.exact import Row
from verify.oracle.target import Base, TargetFormat, Value

PARALLEL = 30000
"""Cost that makes another process worth its start; an output costs 1, about 10 µs, and a weight 2."""

_SERVE = """
import sys, types
for name, path in {packages!r}:
    package = types.ModuleType(name)
    package.__path__ = [path]
    sys.modules[name] = package
from verify.oracle.escalate import serve
serve()
"""
# Bare packages, without what their __init__ would import: the exact tier needs no torch, and a helper
# that does not load it starts ten times sooner.
_PACKAGES = [("verify", str(Path(__file__).parents[1])), ("verify.oracle", str(Path(__file__).parent))]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One row with the columns that are asked of it; every segment is live and finite."""

    m: list[float]
    """Maxima."""
    s: list[float]
    """Masses, all positive."""
    columns: list[list[float]]
    """The partials of each column."""
    lse: bool = False
    """Whether the lse is asked too."""
    base: Base = Base.TWO
    """The base of the weights."""
    lse_base: Base = Base.E
    """The base of the lse."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a task comes to."""

    output: list[Value]
    """One value per column."""
    lse: Value | None
    """The lse, if it was asked."""
    bits: int
    """The most working bits used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plain:
    """A target format that another process can be told."""

    precision: int
    emin: int
    emax: int
    max_value: float
    saturates: bool


def answer(task: Task, output_format: TargetFormat, lse_format: TargetFormat) -> Answer:
    """Do one task by the plain oracle."""
    row = Row(task.m, task.s, task.base)
    output = [row.output([to_units(x) for x in column], output_format) for column in task.columns]
    lse = row.lse(lse_format, task.lse_base) if task.lse else None
    return Answer(output=output, lse=lse, bits=row.bits)


def answer_all(
    tasks: Sequence[Task], output_format: TargetFormat, lse_format: TargetFormat, processes: int
) -> list[Answer]:
    """Do all tasks, in order; many are shared by up to `processes` processes, this one included."""
    formats = [
        _Plain(
            precision=fmt.precision,
            emin=fmt.emin,
            emax=fmt.emax,
            max_value=fmt.max_value,
            saturates=fmt.saturates,
        )
        for fmt in (output_format, lse_format)
    ]
    cost = sum(len(task.columns) + 2 * len(task.m) for task in tasks)
    share = max(1, min(processes, cost // PARALLEL, len(tasks)))
    answers: list[Answer | None] = [None] * len(tasks)
    helpers = [_Helper(tasks[number::share], formats) for number in range(1, share)]
    try:
        answers[::share] = [answer(task, formats[0], formats[1]) for task in tasks[::share]]
        for number, helper in enumerate(helpers, start=1):
            answers[number::share] = helper.answers()
    finally:
        for helper in helpers:
            helper.end()
    return [found for found in answers if found is not None]


class _Helper:
    """Another interpreter at work on some tasks.

    A fresh one on pipes: no fork of a process that holds threads or a GPU, and no second import of the
    caller's main module.
    """

    def __init__(self, tasks: Sequence[Task], formats: Sequence[_Plain]) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE.format(packages=_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None
        with self._process.stdin as pipe:
            pickle.dump((tasks, *formats), pipe)

    def answers(self) -> list[Answer]:
        """Wait for the answers, or raise what the helper met."""
        assert self._process.stdout is not None
        try:
            found: list[Answer] | ArithmeticError = pickle.load(self._process.stdout)
        except EOFError:
            status = self._process.wait()
            raise RuntimeError(f"a helper process of the exact tier ended with status {status}") from None
        if isinstance(found, ArithmeticError):
            raise found
        return found

    def end(self) -> None:
        """End the process if it still runs."""
        self._process.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()


def serve() -> None:
    """Do the tasks pickled on stdin; pickle the answers, or the error, to stdout."""
    tasks, output_format, lse_format = pickle.load(sys.stdin.buffer)
    outcome: list[Answer] | ArithmeticError
    try:
        outcome = [answer(task, output_format, lse_format) for task in tasks]
    except ArithmeticError as error:
        outcome = error
    pickle.dump(outcome, sys.stdout.buffer)
