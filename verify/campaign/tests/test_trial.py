"""Cases through a trial in this process."""

import pytest
import torch

from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from verify.bounds import load_bounds
from verify.campaign.jobs import Job, Stream
from verify.campaign.trial import Bench, flushes_subnormals
from verify.museum.honest import Merge
from verify.observed import FaultKind
from verify.subjects.load import Subject


def tried(merge, number, **options):
    subject = Subject(name="", import_path="", source_sha256="", merge=merge)
    recipe = draw_recipe(3, number)
    job = Job(name=f"3/{number}", input=recipe, stream=Stream.DRAWN)
    outcome = Bench(subject, load_bounds(), **options).run(job, expand(recipe))
    return [fault.kind for fault in outcome.faults]


def number_where(wanted):
    return next(number for number in range(2000) if wanted(draw_recipe(3, number)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda o, m, s, length: o.mul_(0.5),
        lambda o, m, s, length: m.fill_(torch.nan),
        lambda o, m, s, length: length.add_(1),
        lambda o, m, s, length: length.resize_(0),
        lambda o, m, s, length: o.resize_(0),
        lambda o, m, s, length: s.t_() if s.ndim == 2 else s.transpose_(0, 1),
    ],
)
def test_a_kernel_that_writes_to_its_inputs_is_judged_by_what_they_were(spoil):
    honest = Merge()

    def merge(o, m, s, length, *rest):
        got = honest(o, m, s, length, *rest)
        spoil(o, m, s, length)
        return got

    number = number_where(
        lambda recipe: recipe.family == "producer" and min(recipe.tokens, recipe.heads, recipe.segments) > 1
    )
    assert tried(merge, number) == [FaultKind.TOUCHED_INPUT]


def test_a_kernel_that_switches_to_flushing_is_judged_without_and_starts_every_call_afresh():
    honest = Merge()
    started = []

    def merge(*args):
        started.append(flushes_subnormals())
        got = honest(*args)
        torch.set_flush_denormal(True)
        return got

    number = number_where(lambda recipe: recipe.family == "subnormals")
    assert tried(merge, number) == []
    assert tried(merge, number) == []
    assert started == [False, False]
    tried(merge, number, flushing=True)
    assert started == [False, False, True]
    assert not flushes_subnormals()


def test_the_end_of_the_call_is_announced_before_the_judging(monkeypatch):
    told = []
    honest = Merge()

    def merge(*args):
        told.append("called")
        return honest(*args)

    assert tried(merge, 0, returned=lambda: told.append("returned")) == []
    assert told == ["called", "returned"]
