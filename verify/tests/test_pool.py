import pytest

from fuzz.draw import draw_recipe
from verify.bounds import load_bounds
from verify.campaign.pool import InternalError, Pool
from verify.campaign.worker import Job, WorkerSettings
from verify.observed import FaultKind
from verify.subjects.load import SubjectError

HONEST = "from verify.tests.honest import Merge\nhonest = Merge()\n"


def pool(spec, workers=1, timeout_s=60.0):
    settings = WorkerSettings(kernel=spec, device="cpu", threads=1, bounds=load_bounds())
    return Pool(settings, workers, timeout_s)


def jobs(numbers):
    return iter([Job(name=f"3/{number}", input=draw_recipe(3, number)) for number in numbers])


def test_every_job_comes_back_once_and_passes():
    with pool("verify.tests.faulty:reference_merge", workers=2) as running:
        outcomes = list(running.run(jobs(range(20))))
        assert running.subject["name"] == "verify.tests.faulty:reference_merge"
    assert sorted(outcome.case for outcome in outcomes) == sorted(f"3/{n}" for n in range(20))
    assert all(outcome.faults == () and outcome.outputs > 0 for outcome in outcomes)


def test_a_process_that_ends_is_a_finding_and_the_run_goes_on(kernel):
    spec = kernel(
        HONEST
        + "def merge(o, *rest):\n    if o.shape[2] == 1:\n        os._exit(7)\n    return honest(o, *rest)\n"
    )
    numbers = range(40)
    single = {f"3/{n}" for n in numbers if draw_recipe(3, n).segments == 1}
    assert 0 < len(single) <= 3
    with pool(spec) as running:
        outcomes = list(running.run(jobs(numbers)))
    lost = [outcome for outcome in outcomes if outcome.faults]
    assert {outcome.case for outcome in lost} == single
    assert len(outcomes) == len(numbers)
    for outcome in lost:
        assert [fault.kind for fault in outcome.faults] == [FaultKind.CRASH]
        assert "exit code 7" in outcome.faults[0].message


def test_a_hang_is_a_finding_and_the_run_goes_on(kernel):
    hang = "    if o.shape[2] == 1:\n        time.sleep(3600)\n"
    spec = kernel(HONEST + "def merge(o, *rest):\n" + hang + "    return honest(o, *rest)\n")
    number = next(n for n in range(200) if draw_recipe(3, n).segments == 1)
    with pool(spec, timeout_s=6.0) as running:
        outcomes = list(running.run(jobs([number, number + 1])))
    assert [[fault.kind for fault in outcome.faults] for outcome in outcomes] == [[FaultKind.TIMEOUT], []]


def test_what_a_kernel_prints_does_not_reach_stdout(kernel, capfd):
    spec = kernel(HONEST + "def merge(*args):\n    print('noise', flush=True)\n    return honest(*args)\n")
    with pool(spec) as running:
        list(running.run(jobs([0])))
    captured = capfd.readouterr()
    assert "noise" not in captured.out
    assert "noise" in captured.err


def test_a_kernel_whose_import_ends_the_process_cannot_be_loaded(kernel):
    with pytest.raises(SubjectError, match=r"ended the process \(exit code 9\)"), pool(kernel("os._exit(9)")):
        pass


def test_workers_that_are_lost_again_and_again_end_the_run(kernel):
    with (
        pool(kernel("def merge(*_):\n    os._exit(7)\n")) as running,
        pytest.raises(InternalError, match="again"),
    ):
        list(running.run(jobs(range(9))))
