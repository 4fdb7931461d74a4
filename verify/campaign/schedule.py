"""Which cases a run makes, in which order: the corpus, then turns of drawn cases and of the hunt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from fuzz.case import MergeCase
from fuzz.corpus import load_corpus
from fuzz.draw import COMBINATIONS, combination_of, draw_recipe
from fuzz.families import DRAWN
from fuzz.recipe import Recipe
from verify.campaign.archive import Archive
from verify.campaign.hunt import GENERATION, generation
from verify.campaign.jobs import Job, Stream, seed_of
from verify.campaign.plan import Plan

CORPUS, HUNT = Stream.CORPUS.value, Stream.HUNT.value
"""The names under which `--family` chooses those streams."""


_LISTED = 1 << 20  # numbers that are looked at one by one


class Schedule:
    """The jobs of a plan, batch by batch; a batch is chosen when all before it have come back."""

    def __init__(self, plan: Plan, archive: Archive) -> None:
        self._plan = plan
        self._archive = archive
        self.complaints: list[str] = []
        """What of the corpus could not be read, a line each."""

    def batches(self) -> Iterator[Iterator[Job]]:
        """Yield the batches, without end where the profile has none."""
        plan = self._plan
        if CORPUS in plan.families:
            yield self._corpus()
        drawn = self._draws_anything()
        if plan.max_cases is not None:
            yield self._drawn(itertools.islice(self._numbers(0, None), plan.max_cases if drawn else 0))
            return
        turns = itertools.count() if plan.profile.turns is None else range(plan.profile.turns)
        size = plan.profile.rounds * COMBINATIONS
        for turn in turns:
            yield self._drawn(self._numbers(turn * size, (turn + 1) * size))
            if HUNT in plan.families and self._archive.cells:
                for begun in range(0, plan.profile.hunted, GENERATION):
                    yield self._hunt(turn * plan.profile.hunted + begun)
            elif not drawn:
                return  # there will never be anything

    def planned(self) -> int | None:
        """Return the number of cases in all, without making them; None where there is no end."""
        plan = self._plan
        corpus = sum(1 for _ in self._corpus()) if CORPUS in plan.families else 0
        if plan.max_cases is not None:
            return corpus + self._share(plan.max_cases)
        if plan.profile.turns is None:
            return None
        numbers = self._numbers(0, plan.profile.turns * plan.profile.rounds * COMBINATIONS)
        hunted = plan.profile.turns * plan.profile.hunted if HUNT in plan.families else 0
        return corpus + sum(plan.shard.holds(number) for number in numbers) + hunted

    def _draws_anything(self) -> bool:
        """Tell whether any number of any turn is wanted and of this shard."""
        # Families, dtypes and shards repeat together after so many numbers.
        numbers = self._numbers(0, math.lcm(COMBINATIONS, self._plan.shard.count))
        return any(self._plan.shard.holds(number) for number in numbers)

    def _share(self, cases: int) -> int:
        """Return how many of so many drawn cases are of this shard."""
        if not self._draws_anything():
            return 0
        if cases < _LISTED:
            return sum(map(self._plan.shard.holds, itertools.islice(self._numbers(0, None), cases)))
        period = list(self._numbers(0, math.lcm(COMBINATIONS, self._plan.shard.count)))
        whole, rest = divmod(cases, len(period))
        held = [self._plan.shard.holds(number) for number in period]
        return whole * sum(held) + sum(held[:rest])

    def _corpus(self) -> Iterator[Job]:
        self.complaints.clear()
        for number, (name, case) in enumerate(load_corpus()):
            if isinstance(case, ValueError):
                self.complaints.append(f"the corpus: {case}; the run goes on without it")
            elif case.out_dtype in self._plan.dtypes and self._plan.shard.holds(number):
                yield _job(f"corpus/{name}", case, Stream.CORPUS, number, self._laws(number))

    def _numbers(self, first: int, end: int | None) -> Iterator[int]:
        """Yield the numbers of the wanted cases: a filter leaves cases out, it never renumbers them."""
        for number in itertools.count(first) if end is None else range(first, end):
            family, dtype = combination_of(number)
            if family in self._plan.families and dtype in self._plan.dtypes:
                yield number

    def _drawn(self, numbers: Iterator[int]) -> Iterator[Job]:
        for number in numbers:
            if self._plan.shard.holds(number):
                name = f"{self._plan.seed}/{number}"
                recipe = draw_recipe(self._plan.seed, number)
                yield _job(name, recipe, Stream.DRAWN, number, self._laws(number))

    def _hunt(self, first: int) -> Iterator[Job]:
        # Chosen all at once: the archive changes as soon as the first of them comes back.
        chosen = list(generation(self._plan, self._archive, first))
        for number, (name, recipe) in enumerate(chosen, start=first):
            yield _job(name, recipe, Stream.HUNT, number, ())

    def _laws(self, number: int) -> tuple[str, ...]:
        """Return the law whose turn it is: in a round each meets every format, each family meets them all.

        Formats go up as the turns do (`combination_of`) and laws down: going one way they would go in step.
        """
        laws = self._plan.laws
        if not laws:
            return ()
        turn, family = divmod(number, len(DRAWN))
        return (laws[(family - turn - turn // len(laws)) % len(laws)],)


def _job(name: str, source: Recipe | MergeCase, stream: Stream, number: int, laws: tuple[str, ...]) -> Job:
    before = list(Stream).index(stream) << 48  # more than any stream has cases
    return Job(name=name, input=source, stream=stream, rank=before + number, laws=laws, seed=seed_of(name))
