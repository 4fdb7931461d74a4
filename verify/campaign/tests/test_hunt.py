"""The archive of the hunt, and that the hunt finds what drawing does not."""

from dataclasses import replace

import pytest
import torch

from fuzz.draw import draw_recipe
from fuzz.mutation import mutants_of
from fuzz.recipe import expand
from verify.bounds import load_bounds
from verify.campaign import cells, hunt
from verify.campaign.archive import Archive
from verify.campaign.hunt import GENERATION, generation
from verify.campaign.jobs import Job, Stream
from verify.campaign.outcome import Outcome, Reached
from verify.campaign.tests.plans import plan
from verify.campaign.trial import Bench
from verify.museum.honest import Merge
from verify.observed import FaultKind
from verify.subjects.load import Subject


def outcome(*cells):
    return Outcome(case="0/0", family="ties", dtype="float32", cells=cells)


def reached(cell, margin, parent=None, misrounded=False):
    return Reached(cell=cell, margin=margin, misrounded=misrounded, parent=parent)


def bench(merge, bounds=None):
    return Bench(Subject(name="", import_path="", source_sha256="", merge=merge), bounds or load_bounds())


def drawn(number):
    return Job(name=f"0/{number}", input=draw_recipe(0, number), stream=Stream.DRAWN)


def test_the_archive_keeps_the_worst_row_of_every_cell():
    near, far = draw_recipe(0, 1), draw_recipe(0, 2)
    archive = Archive()
    assert archive.add(outcome(reached("a", 0.2, near), reached("b", 0.9, near))) == 2
    assert archive.add(outcome(reached("a", 0.3, far), reached("b", 0.1), reached("c", 0.5))) == 0
    assert {name: (cell.margin, cell.visits) for name, cell in archive.cells.items()} == {
        "a": (0.3, 2),
        "b": (0.9, 2),
    }
    assert archive.cells["a"].parent is far
    assert archive.worst() is archive.cells["b"]
    archive.cells["b"].chosen = 60
    assert archive.worst() is archive.rarest() is archive.cells["a"]
    archive.add(outcome(reached("d", 0.01, far, misrounded=True)))
    assert archive.worst() is archive.cells["d"]  # an error that no rounding has to make
    assert Archive().worst() is Archive().rarest() is None


def test_where_the_oracle_is_slow_fewer_mutants_are_made():
    parent = mutants_of(expand(draw_recipe(0, 2)), (0, 0, 0), seed=0, tokens=1, heads=1, rank=8, strength=0)
    sizes = []
    for tiers in ({"float64": 10}, {"float64": 5, "exact": 5}):
        archive = Archive()
        archive.add(outcome(reached("a", 0.2, parent)))
        name, first = next(generation(plan(device="cuda"), archive, 0))  # nothing is known of its mutants
        archive.add(replace(outcome(reached("a", 0.1)), case=name, tiers=tiers))
        second = next(generation(plan(device="cuda"), archive, 0))[1]
        archive.add(outcome(reached("b", 0.9, parent)))
        other = next(generation(plan(device="cuda"), archive, 0))[1]  # what was seen of others counts
        sizes += [first.outputs, second.outputs, other.outputs]
    easy, hard = sizes[:3], sizes[3:]
    assert easy[0] == hard[0] == easy[2] > 0
    assert easy[1] > 4 * easy[0]
    assert hard[1] == hard[2] <= easy[0] / 4


def test_a_worker_tells_of_a_row_again_only_where_it_is_worse():
    job = drawn(0)
    first = bench(Merge())
    told = first.run(job, expand(job.input)).cells
    assert all(cell.parent is not None for cell in told)
    again = first.run(job, expand(job.input)).cells
    assert [(cell.cell, cell.margin) for cell in again] == [(cell.cell, cell.margin) for cell in told]
    assert all(cell.parent is None for cell in again)


def test_a_parent_shows_the_margin_that_its_cell_was_told_with():
    """Whatever the case: a row taken out of it behaves as it did there."""
    shown = 0
    for number in range(40):
        job = drawn(number)
        for cell in bench(Merge()).run(job, expand(job.input)).cells[:2]:
            case = expand(replace(cell.parent, tokens=1, heads=1))
            alone = bench(Merge()).run(Job(name="alone", input=cell.parent, stream=Stream.HUNT), case)
            assert max(stratum.margin for stratum in alone.strata) >= 0.999 * cell.margin
            shown += 1
    assert shown > 40


def test_a_generation_is_the_same_whenever_its_archive_is():
    def names_and_recipes():
        archive = Archive()
        archive.add(bench(Merge()).run(drawn(3), expand(drawn(3).input)))
        return [list(generation(plan(), archive, first)) for first in (0, GENERATION)]

    first, second = names_and_recipes()
    assert [first, second] == names_and_recipes()
    assert len(first) == len(second) == GENERATION
    assert len({name for name, _ in first + second}) == 2 * GENERATION
    assert {recipe.family for _, recipe in first} == {"mutants"}
    assert len({recipe.seed for _, recipe in first}) == GENERATION


def test_of_every_cell_the_first_of_its_worst_rows_is_told():
    torch.manual_seed(0)
    codes = torch.stack([torch.randint(min(size, 3), (200,)) for size in cells._SIZES], -1)
    codes[7] = torch.tensor([size - 1 for size in cells._SIZES])
    badness = torch.randint(4, (200,)).double()
    told = dict(cells._worst_rows(codes, badness))
    assert len(told) == cells._MOST
    for code, row in told.items():
        same = [n for n in range(200) if tuple(codes[n].tolist()) == code]
        assert row == max(same, key=lambda n: (badness[n], -n))
    assert min(float(badness[row]) for row in told.values()) == 3.0
    assert dict(cells._worst_rows(codes[7:8], badness[7:8])) == {tuple(codes[7].tolist()): 0}


class Creeping(Merge):
    """Errs by up to 10 ulp where two maxima are 87.4 apart, by less the farther they are from that."""

    def rows(self, o, m, s, active):
        y, lse = super().rows(o, m, s, active)
        live = m.isfinite() & (s > 0)
        top = m.where(live, m.new_tensor(-1e9)).amax(-1, keepdim=True)
        off = (top - m - 87.4).abs().where(live, m.new_tensor(1e9)).amin(-1)
        return y * (1.0 + 10.0 * (2.0**-24 / (1.0 + off / 2.0))[..., None]), lse


@pytest.mark.parametrize("seed", [0, 1])
def test_the_hunt_climbs_to_a_fault_that_hides(seed, monkeypatch):
    """A fault around one gap between maxima, which no family aims at, under a bound of 8 ulp."""
    monkeypatch.setattr(hunt, "_OUTPUTS_CPU", 1 << 11)
    chosen, loose = plan(seed=seed), replace(load_bounds(), ulp=8.0)
    station, archive = bench(Creeping(), loose), Archive()
    faults = []
    for number in range(30):
        source = draw_recipe(seed, number)
        job = Job(name=f"{seed}/{number}", input=source, stream=Stream.DRAWN)
        outcome = station.run(job, expand(source))
        faults += outcome.faults
        archive.add(outcome)
    assert not faults
    for first in range(0, 4 * GENERATION, GENERATION):
        for name, recipe in generation(chosen, archive, first):
            outcome = station.run(Job(name=name, input=recipe, stream=Stream.HUNT), expand(recipe))
            faults += outcome.faults
            archive.add(outcome)
    assert {fault.kind for fault in faults} == {FaultKind.WRONG_VALUE}
