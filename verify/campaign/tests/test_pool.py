import subprocess
import sys
import time
from multiprocessing import spawn

import pytest

from fuzz.draw import draw_recipe
from verify.bounds import load_bounds
from verify.campaign import pool as pool_module
from verify.campaign.jobs import Job
from verify.campaign.pool import InternalError, Pool, WorkersLostError
from verify.campaign.station import Stage, StationSettings
from verify.observed import FaultKind
from verify.subjects.load import SubjectError

PATIENCE_S, LONGER_S = 6.0, 7.0
"""A time limit that an honest call keeps on a busy machine too, and what is beyond it."""

HONEST = "from verify.museum.honest import Merge\nhonest = Merge()\n"


def pool(spec, workers=1, timeout_s=60.0):
    settings = StationSettings(kernel=spec, device="cpu", cores=1, bounds=load_bounds())
    return Pool([settings] * workers, timeout_s)


def jobs(numbers):
    return iter([Job(name=f"3/{number}", input=draw_recipe(3, number)) for number in numbers])


def numbers_where(wanted, count=1):
    found = (number for number in range(2000) if wanted(draw_recipe(3, number)))
    return [next(found) for _ in range(count)]


def kinds(outcome):
    return [fault.kind for fault in outcome.faults]


def test_every_job_comes_back_once_and_passes():
    with pool("verify.museum.honest:reference_merge", workers=2) as running:
        outcomes = list(running.run(jobs(range(20))))
        assert running.subject["name"] == "verify.museum.honest:reference_merge"
        assert running.variables["TRITON_INTERPRET"] == "1"
    assert sorted(outcome.case for outcome in outcomes) == sorted(f"3/{n}" for n in range(20))
    assert all(outcome.faults == () and outcome.outputs > 0 for outcome in outcomes)


def test_a_kernel_that_ends_its_process_again_and_again_is_a_finding_each_time(kernel):
    spec = kernel(
        HONEST
        + "def merge(o, *rest):\n    if o.shape[2] == 1:\n        os._exit(7)\n    return honest(o, *rest)\n"
    )
    lost = numbers_where(lambda recipe: recipe.segments == 1, count=4)
    with pool(spec) as running:
        outcomes = list(running.run(jobs([*lost, 0])))
    assert [outcome.case for outcome in outcomes] == [f"3/{number}" for number in (*lost, 0)]
    assert [kinds(outcome) for outcome in outcomes] == [[FaultKind.CRASH]] * 4 + [[]]
    assert all(outcome.lost_process for outcome in outcomes[:4])
    assert outcomes[0].faults[0].message == "the process ended during the call (exit code 7)"


def test_an_interrupt_raised_by_the_kernel_is_a_fault_and_costs_no_process(kernel):
    with pool(kernel("def merge(*_):\n    raise KeyboardInterrupt\n")) as running:
        outcomes = list(running.run(jobs(range(3))))
    assert [kinds(outcome) for outcome in outcomes] == [[FaultKind.CRASH]] * 3
    assert not any(outcome.lost_process for outcome in outcomes)


def test_a_hang_is_a_finding_and_the_run_goes_on(kernel):
    hang = "    if o.shape[2] == 1:\n        time.sleep(3600)\n"
    spec = kernel(HONEST + "def merge(o, *rest):\n" + hang + "    return honest(o, *rest)\n")
    (number,) = numbers_where(lambda recipe: recipe.segments == 1)
    with pool(spec, timeout_s=PATIENCE_S) as running:
        outcomes = list(running.run(jobs([number, number + 1])))
    assert [kinds(outcome) for outcome in outcomes] == [[FaultKind.TIMEOUT], []]
    assert outcomes[0].faults[0].message == f"the call did not return within {PATIENCE_S:g} s"


def test_neither_the_import_nor_the_judging_counts_as_the_call(kernel):
    slow = (
        "from verify.campaign import trial\nexact = trial.evaluate\n"
        f"def late(*args, **options):\n    time.sleep({LONGER_S})\n    return exact(*args, **options)\n"
        f"trial.evaluate = late\ntime.sleep({LONGER_S})\n"
    )
    with pool(kernel(HONEST + slow + "merge = honest\n"), timeout_s=PATIENCE_S) as running:
        assert [kinds(outcome) for outcome in running.run(jobs([0]))] == [[]]


def test_an_answer_that_came_while_another_was_looked_at_is_in_time(kernel):
    slow = "    if o.shape[2] > 1:\n        time.sleep(0.8)\n"
    spec = kernel(HONEST + "def merge(o, *rest):\n" + slow + "    return honest(o, *rest)\n")
    (fast,) = numbers_where(lambda recipe: recipe.segments == 1)
    (late,) = numbers_where(lambda recipe: recipe.segments > 1)
    with pool(spec, workers=2, timeout_s=PATIENCE_S) as running:
        outcomes = []
        for outcome in running.run(jobs([fast, late])):
            outcomes.append(outcome)
            time.sleep(LONGER_S if len(outcomes) == 1 else 0)
    assert [(outcome.case, kinds(outcome)) for outcome in outcomes] == [(f"3/{fast}", []), (f"3/{late}", [])]


def test_a_worker_whose_device_no_longer_answers_is_replaced(kernel):
    # Without a GPU: what raises is the kernel, and what finds the context lost is a stand-in.
    spec = kernel(
        HONEST
        + "from verify.campaign import trial\nlost = False\ntrial._usable = lambda device: not lost\n"
        + "def merge(o, *rest):\n    global lost\n    if lost:\n        os._exit(7)\n"
        + "    lost = o.shape[2] == 1\n    if lost:\n"
        + "        raise torch.AcceleratorError('CUDA error: an illegal memory access')\n"
        + "    return honest(o, *rest)\n"
    )
    (number,) = numbers_where(lambda recipe: recipe.segments == 1)
    with pool(spec) as running:
        outcomes = list(running.run(jobs([number, number + 1])))
    assert [kinds(outcome) for outcome in outcomes] == [[FaultKind.CRASH], []]
    assert outcomes[0].lost_process
    assert "AcceleratorError: CUDA error" in outcomes[0].faults[0].message


def test_a_kernel_whose_library_flushes_subnormals_runs_with_and_is_judged_without_flushing(kernel):
    # As a library built with -ffast-math does when it is loaded.
    loading = "torch.set_flush_denormal(True)\n"
    calling = "    assert torch.tensor(2.0**-126) * 0.5 == 0\n    return honest(*args)\n"
    numbers = numbers_where(lambda recipe: recipe.family == "subnormals", count=4)
    with pool(kernel(HONEST + loading + "def merge(*args):\n" + calling)) as running:
        found = [kinds(outcome) for outcome in running.run(jobs(numbers))]
    assert not any(FaultKind.CRASH in kind for kind in found)


def test_what_a_kernel_prints_does_not_reach_stdout_nor_do_numpys_warnings_reach_anyone(kernel, capfd):
    spec = kernel(
        HONEST
        + "import numpy as np\ndef merge(*args):\n    print('noise', flush=True)\n"
        + "    np.log2(np.zeros(1))\n    return honest(*args)\n"
    )
    with pool(spec) as running:
        list(running.run(jobs([0])))
    captured = capfd.readouterr()
    assert "noise" not in captured.out
    assert "noise" in captured.err
    assert "RuntimeWarning" not in captured.err


@pytest.mark.parametrize(
    ("source", "complaint"),
    [("os._exit(9)", r"importing it ended the process \(exit code 9\)"), ("time.sleep(99)", "took over 1 s")],
)
def test_a_kernel_whose_import_ends_or_never_does_cannot_be_loaded(kernel, source, complaint, monkeypatch):
    monkeypatch.setattr(pool_module, "_LOAD_S", 1.0)
    with pytest.raises(SubjectError, match=complaint), pool(kernel(source)):
        pass


def test_a_kernel_that_loads_only_once_ends_the_run_when_its_worker_is_lost(kernel, tmp_path):
    seen = repr(str(tmp_path / "seen"))
    once = f"if os.path.exists({seen}):\n    os._exit(9)\nopen({seen}, 'w')\n"
    with pool(kernel(once + "def merge(*_):\n    os._exit(7)\n")) as running:
        outcomes = running.run(jobs(range(3)))
        assert kinds(next(outcomes)) == [FaultKind.CRASH]
        with pytest.raises(WorkersLostError, match=r"ended the process \(exit code 9\)"):
            next(outcomes)


def test_a_failure_of_the_suite_itself_is_not_the_kernels(kernel):
    failing = "def fail(*_, **__):\n    raise OSError('disk')\ntrial.evaluate = fail\nmerge = honest\n"
    spec = kernel(HONEST + "from verify.campaign import trial\n" + failing)
    with pool(spec) as running, pytest.raises(InternalError, match="OSError: disk"):
        running.run_one(next(jobs([0])))


def test_a_worker_that_ends_before_it_reaches_the_kernel_is_an_internal_error(monkeypatch):
    prepared = spawn.get_preparation_data
    monkeypatch.setattr(spawn, "get_preparation_data", lambda name: {**prepared(name), "sys_path": []})
    with pytest.raises(InternalError, match="before it had loaded the suite"), pool("mla_merge"):
        pass


def test_workers_run_where_the_standard_streams_are_closed(kernel):
    # A kernel may write there all the same, and must not hit the pipe.
    noise = "    os.write(1, b'noise'), os.write(2, b'noise')\n    return honest(*args)\n"
    spec = kernel(HONEST + "def merge(*args):\n" + noise)
    code = (
        "from verify.campaign.tests.test_pool import jobs, pool\n"
        f"with pool({spec!r}) as running:\n"
        "    raise SystemExit(sum(not outcome.faults for outcome in running.run(jobs(range(3)))) + 40)\n"
    )
    command = 'exec "$0" -c "$1" <&- >&- 2>&-'
    done = subprocess.run(["bash", "-c", command, sys.executable, code], check=False, timeout=100)
    assert done.returncode == 43


def test_idle_workers_end_by_themselves_when_the_pool_closes_and_a_busy_one_is_killed(kernel):
    with pool(kernel("def merge(*_):\n    time.sleep(3600)\n"), workers=2) as running:
        busy, idle = running._workers
        busy.submit(next(jobs([0])))
        assert busy.receive() is Stage.CALLING
        assert idle.stage is Stage.IDLE
    assert (busy._process.exitcode, idle._process.exitcode) == (-9, 0)
