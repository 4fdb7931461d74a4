import math

from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from verify.bounds import load_bounds
from verify.campaign.jobs import Job
from verify.campaign.shrink import shrink
from verify.campaign.trial import Bench
from verify.museum.registry import EXHIBITS
from verify.observed import Fault, FaultKind
from verify.subjects.load import Subject


def attempt(name):
    subject = Subject(name=name, import_path=name, source_sha256="", merge=EXHIBITS[name])
    bench = Bench(subject, load_bounds())
    return lambda case: bench.run(Job(name="test", input=case), case).faults


def first_failure(run, wanted):
    for number in range(400):
        case = expand(draw_recipe(0, number))
        for fault in run(case):
            if fault.kind is wanted and case.outputs > 1 and case.S > 1:
                return case, fault
    raise AssertionError(f"nothing drawn shows {wanted}")


def test_a_missing_guard_shrinks_to_one_empty_segment():
    run = attempt("no_guard")
    case, fault = first_failure(run, FaultKind.SPURIOUS_NAN)
    found = shrink(case, fault, run)
    assert found is not None
    case = found.case
    assert (case.T, case.H, case.S, case.R, case.tile_size) == (1, 1, 1, 1, 1)
    assert case.segm_output.item() == 0.0
    assert case.recipe is None
    assert [fault.kind for fault in run(case) if fault.result == found.fault.result] == [found.fault.kind]


def test_an_error_does_not_slide_down_while_it_shrinks():
    run = attempt("natural_weights")
    case, fault = first_failure(run, FaultKind.WRONG_VALUE)
    found = shrink(case, fault, run)
    assert found is not None
    assert found.fault.severity >= 0.9 * fault.severity > 0
    assert (found.case.T, found.case.H, found.case.R) == (1, 1, 1)
    assert found.case.segm_output.numel() < case.segm_output.numel()


def test_a_fault_of_the_partition_keeps_its_length():
    run = attempt("length_ignored")
    case, fault = first_failure(run, FaultKind.WRONG_LSE)
    found = shrink(case, fault, run)
    assert found is not None
    assert found.case.T == 1
    assert int(found.case.active[0]) < found.case.S


def test_what_does_not_show_again_is_not_shrunk():
    case = expand(draw_recipe(0, 0))
    fault = Fault(kind=FaultKind.CRASH, detector="isolation", message="gone")
    assert shrink(case, fault, lambda _: ()) is None


def test_the_limit_of_attempts_is_kept():
    calls = []
    fault = Fault(kind=FaultKind.WRONG_VALUE, detector="oracle", message="", result="output", ulp=math.inf)

    def always(case):
        calls.append(case)
        return (fault,)

    found = shrink(expand(draw_recipe(0, 2)), fault, always, limit=10)
    assert found is not None
    assert found.attempts == len(calls)
    assert len(calls) <= 11
