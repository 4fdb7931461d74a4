"""Runs over a pool that only says it ran."""

import itertools
import json
import os
import signal
from dataclasses import replace

import pytest

from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from fuzz.mutation import mutants_of
from fuzz.recipe import Recipe, expand
from reports import serialize
from verify import fuzz
from verify.campaign import run
from verify.campaign.archive import Archive, Cell
from verify.campaign.gather import Gathered
from verify.campaign.outcome import Outcome
from verify.campaign.plan import Shard
from verify.campaign.pool import WorkersLostError
from verify.campaign.profiles import PROFILES
from verify.campaign.schedule import Schedule
from verify.campaign.tests.plans import plan
from verify.laws import LAWS
from verify.observed import Fault, FaultKind

CRASH = Fault(kind=FaultKind.CRASH, detector="isolation", message="the process ended", lost_process=True)
WRONG = Fault(kind=FaultKind.WRONG_LSE, detector="oracle", message="wrong", result="lse")


def outcome(job, *faults):
    return Outcome(case=job.name, family=job.family, dtype=job.dtype, outputs=1, faults=faults)


@pytest.fixture
def campaign(monkeypatch, tmp_path):
    """Return a function that runs a plan over `answers`, a generator from jobs to outcomes."""

    def start(answers, impatient=False, **changes):
        class Pool:
            subject = {"name": "k", "import_path": "k", "source_sha256": "", "declared": ""}  # noqa: RUF012
            variables = {"TRITON_INTERPRET": "1", "TRITON_X": "in the worker"}  # noqa: RUF012
            run = staticmethod(answers)

            def __init__(self, *_):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        def store(groups, plan, folder, progress, pool):
            stored.append(pool)
            if impatient:
                os.kill(os.getpid(), signal.SIGINT)  # a second Ctrl-C
            return []

        stored: list[object] = []
        monkeypatch.setattr(run, "Pool", Pool)
        monkeypatch.setattr(run, "write_findings", store)
        report = run.run_campaign(plan(**{"out": tmp_path, **changes}), lambda *_: None)
        return report, [pool is not None for pool in stored]

    return start


def test_cases_and_values_are_counted_apart(campaign):
    def answers(jobs):
        for rank, job in enumerate(jobs):
            yield outcome(job, *([WRONG] if rank % 4 == 0 else []))

    report, shrunk = campaign(answers)
    assert shrunk == [True]
    totals = report.totals
    assert (totals["planned"], totals["cases"], totals["passed"], totals["failed"]) == (12, 12, 9, 3)
    assert (totals["values"], totals["values_passed"], totals["values_failed"]) == (0, 0, 0)
    assert (report.run["stopped_by"], report.run["exit_code"]) == ("", 1)
    assert report.environment["variables"]["TRITON_X"] == "in the worker"
    assert report.run["mode"] == "interpret"


def test_lost_processes_end_the_hunt_and_what_was_found_is_reported(campaign):
    report, shrunk = campaign(lambda jobs: (outcome(job, CRASH) for job in jobs), max_cases=1000)
    assert report.totals["cases"] == report.totals["failed"] == run.MOST_LOST
    assert (report.run["stopped_by"], report.run["exit_code"]) == ("lost processes", 1)
    assert shrunk == [False]


def test_a_pool_without_workers_ends_the_hunt_and_what_was_found_is_reported(campaign):
    def answers(jobs):
        yield outcome(next(jobs), CRASH)
        raise WorkersLostError("no new worker")

    report, shrunk = campaign(answers, impatient=True)
    assert (report.totals["cases"], report.run["stopped_by"], report.run["exit_code"]) == (
        1,
        "lost processes",
        1,
    )
    assert shrunk == [False]


def test_what_came_back_before_an_interrupt_counts_though_an_earlier_case_did_not(campaign, monkeypatch):
    def answers(jobs):
        _hanging, *others = itertools.islice(jobs, 5)
        yield from (outcome(job, WRONG) for job in reversed(others))
        os.kill(os.getpid(), signal.SIGINT)

    class Disturbed(Gathered):
        def add(self, outcome, job):
            os.kill(os.getpid(), signal.SIGINT)
            super().add(outcome, job)

    monkeypatch.setattr(run, "Gathered", Disturbed)
    before = signal.getsignal(signal.SIGINT)
    report, shrunk = campaign(answers, impatient=True)
    assert report.totals["cases"] == report.totals["failed"] == 4
    assert (report.run["status"], report.run["stopped_by"]) == ("interrupted", "interrupt")
    assert report.run["exit_code"] == 130
    assert shrunk == [False]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_first_fault_ends_the_run_though_an_earlier_case_is_not_back(campaign):
    def answers(jobs):
        slow, *others = itertools.islice(jobs, 3)
        yield from (outcome(job, WRONG) for job in others)
        yield from (outcome(job) for job in jobs)
        yield outcome(slow)

    report, _ = campaign(answers, stop_at_first=True, max_cases=10**9)
    assert (report.totals["planned"], report.totals["cases"]) == (10**9, 3)
    assert report.run["stopped_by"] == "first fault"


def test_the_budget_ends_the_run_and_the_report_says_so(campaign):
    report, _ = campaign(lambda jobs: (outcome(job) for job in jobs), budget_s=1e-9)
    assert (report.run["stopped_by"], report.run["exit_code"]) == ("budget", 5)
    assert (report.totals["planned"], report.totals["cases"]) == (12, 0)


@pytest.mark.parametrize("families", [("corpus", *DRAWN, "hunt"), ("ties", "producer"), ("corpus",)])
@pytest.mark.parametrize("dtypes", [tuple(FORMATS), ("float16", "float8_e5m2", "float32")])
@pytest.mark.parametrize("max_cases", [None, 17])
@pytest.mark.parametrize("shard", [Shard(), Shard(index=1, count=3)])
def test_the_number_of_planned_cases_is_known_without_making_them(families, dtypes, max_cases, shard):
    chosen = plan(
        families=families, dtypes=dtypes, max_cases=max_cases, shard=shard, profile=PROFILES["smoke"]
    )
    schedule = Schedule(chosen, Archive())
    scheduled = sum(1 for batch in schedule.batches() for _ in batch)
    hunted = PROFILES["smoke"].hunted if "hunt" in families and max_cases is None else 0
    assert schedule.planned() == scheduled + hunted  # an empty archive has nothing to hunt from


def test_the_shortest_run_checks_every_law_on_every_format():
    chosen = plan(families=tuple(DRAWN), laws=tuple(LAWS), max_cases=None, profile=PROFILES["smoke"])
    jobs = itertools.chain.from_iterable(Schedule(chosen, Archive()).batches())
    met = {(law, job.input.dtype) for job in jobs if isinstance(job.input, Recipe) for law in job.laws}
    assert met == set(itertools.product(LAWS, FORMATS))


def test_a_given_number_of_cases_is_not_cut_short_by_the_profile(monkeypatch, tmp_path):
    plans = []

    def capture(plan, progress):
        plans.append(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "run_campaign", capture)
    for options in ([], ["--max-cases", "7"], ["--max-cases", "7", "--budget", "5s"]):
        assert fuzz.main(["--out", str(tmp_path), *options]) == 130
    assert [plan.budget_s for plan in plans] == [PROFILES["quick"].budget_s, None, 5.0]


def test_an_interrupt_while_the_report_is_written_does_not_lose_it(monkeypatch, tmp_path, campaign, capsys):
    report, _ = campaign(lambda jobs: (outcome(job) for job in jobs))
    monkeypatch.setattr(fuzz, "run_campaign", lambda plan, progress: report)
    to_json = serialize.to_json

    def interrupted(report):
        os.kill(os.getpid(), signal.SIGINT)
        return to_json(report)

    monkeypatch.setattr(fuzz, "to_json", interrupted)
    fuzz.main(["--out", str(tmp_path)])
    assert json.loads((tmp_path / "report.json").read_text())["run"]["stopped_by"] == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"families": ("producer",), "dtypes": ("float32",), "shard": Shard(index=1, count=7)},
        {"families": ("hunt",)},
        {"families": ("corpus", "hunt"), "max_cases": 5},
    ],
)
def test_an_endless_profile_ends_where_there_is_nothing_to_do(changes):
    chosen = plan(profile=PROFILES["soak"], **{"max_cases": None, **changes})
    batches = list(itertools.islice(Schedule(chosen, Archive()).batches(), 5))
    assert len(batches) < 5


def test_a_generation_is_chosen_before_any_of_it_has_come_back():
    def recipes(disturbed):
        archive = Archive()
        parent = draw_mutant()
        archive.cells["a"] = Cell(margin=0.5, misrounded=False, parent=parent)
        jobs = Schedule(plan(max_cases=None), archive)._hunt(0)
        first = next(jobs)
        if disturbed:
            worse = replace(parent, tile_size=parent.tile_size + 1)
            archive.cells["b"] = Cell(margin=0.9, misrounded=True, parent=worse)
        return [first.input, *(job.input for job in jobs)]

    assert recipes(disturbed=True) == recipes(disturbed=False)


def draw_mutant():
    case = expand(draw_recipe(0, 2))
    return mutants_of(case, (0, 0, 0), seed=0, tokens=1, heads=1, rank=8, strength=0)
