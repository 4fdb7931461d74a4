"""What a law says when it speaks: where, how much, how often; and when a variant's call fails."""

import math
from dataclasses import replace

import pytest
import torch

from fuzz.formats import FORMATS, ulp
from verify.laws import LAWS, Checked
from verify.laws.tests.trials import HONEST, checked, ordinary, trial_of, written
from verify.museum.honest import Merge
from verify.observed import Fault, FaultKind
from verify.subjects.call import Call

NAN, INF = math.nan, math.inf


class OneRowLater(Merge):
    """Gives another result for the row of one maximum from the second call on."""

    def __init__(self, wanted):
        self.wanted, self.calls = wanted, 0

    def rows(self, o, m, s, active):
        self.calls += 1
        y, lse = super().rows(o, m, s, active)
        return y + ((m[..., 0] == self.wanted) & (self.calls > 1))[..., None].double(), lse


@pytest.mark.parametrize("law", ["repeat", "batch", "neighbours", "position", "tail"])
def test_a_breach_is_placed_in_the_case_itself(law):
    case = ordinary(segments=3)  # too few live segments for an order to matter
    (fault,) = checked(law, OneRowLater(case.segm_max[3, 1, 0]), case).faults
    assert fault.where[:2] == (3, 1)
    trial = trial_of(HONEST, case)
    assert fault.exact == float(trial.returned.output[fault.where])
    assert fault.got > fault.exact
    assert fault.count % case.R == 0


def test_the_worst_place_is_named_and_the_others_are_counted():
    class Uneven(Merge):
        def rows(self, o, m, s, active):
            y, lse = super().rows(o, m, s, active)
            error = torch.zeros_like(y)
            if m.shape[0] == 1 or y.shape[0] > 5:
                error[..., 2], error[..., 4] = 2.0**-16, 2.0**-10
            return y + error, lse

    (fault,) = checked("batch", Uneven(), ordinary(tokens=5, heads=1)).faults
    assert fault.where[2] == 4
    # Two columns of the row alone, and of each row of each copy.
    assert fault.count in {2 + 2 * 5 * copies for copies in (2, 3, 9, 60)}
    assert fault.message.endswith("more like it")
    unit = float(ulp(fault.exact, FORMATS["float32"]))
    assert fault.ulp == (fault.got - fault.exact) / unit
    assert fault.got - fault.exact == pytest.approx(2.0**-10, rel=1e-3, abs=0.0)


def test_the_worst_of_several_variants_is_kept():
    class Growing(Merge):
        """Is off by more, and then by less, from call to call."""

        calls = 0

        def rows(self, o, m, s, active):
            self.calls += 1
            y, lse = super().rows(o, m, s, active)
            return y + (0, 2**-12, 0, 2**-8, 0, 2**-8, 0, 2**-12)[self.calls - 1], lse

    merge, case = Growing(), ordinary(segments=3)
    for _ in range(2):  # the first trial takes four calls
        (fault,) = checked("repeat", merge, case).faults
        assert fault.got - fault.exact == pytest.approx(2.0**-8, rel=1e-2, abs=0.0)
        assert fault.count == 2 * case.outputs


def test_hull_and_single_leave_nan_and_infinities_where_they_belong():
    o = [[[[INF, 1.0, INF, NAN], [-INF, 2.0, 1.0, 0.0]]]]
    case = written([[[0.0, 1.0]]], [[[1.0, 1.0]]], o)
    assert checked("hull", HONEST, case) == Checked(rows=1, faults=())
    assert checked("hull", HONEST, replace(case, segm_output=case.segm_output[..., 2:])).rows == 0
    for seed in range(4):
        assert checked("single", HONEST, case, seed=seed) == Checked(rows=1, faults=())


def test_a_value_that_only_a_variant_leaves_unwritten_is_noticed_even_where_nan_is_right():
    class Forgets(Merge):
        def write_output(self, output):
            written = torch.empty_like(output)
            written[:2] = output[:2]
            return written

    case = written([[[NAN]], [[1.0]]], [[[1.0]], [[1.0]]], [[[[1.0]]], [[[1.0]]]])
    case = replace(case, segm_max=torch.full_like(case.segm_max, NAN))
    (fault,) = checked("batch", Forgets(), case).faults
    assert fault.result == "output"
    assert math.isnan(fault.got)
    assert math.isnan(fault.exact)


def test_faults_of_a_variants_call_are_passed_on_once():
    class Refuses(Merge):
        def rows(self, o, m, s, active):
            if bool(o.isnan().any()):
                raise ArithmeticError("NaN in o")
            return super().rows(o, m, s, active)

    (fault,) = checked("neighbours", Refuses(), ordinary()).faults
    assert (fault.kind, fault.detector) == (FaultKind.CRASH, "law neighbours")
    assert fault.message.startswith("with other values in half of the rows, the call raised ArithmeticError")

    class Writes(Merge):
        def __call__(self, o, m, *rest):
            results = super().__call__(o, m, *rest)
            m[0] += 1
            return results

    assert checked("position", Writes(), ordinary()).faults == ()


def test_a_law_stops_when_a_call_has_cost_the_process():
    calls = []
    lost = Fault(kind=FaultKind.CRASH, detector="isolation", message="gone", lost_process=True)

    def call(case):
        calls.append(case)
        return Call(returned=None, faults=(lost,))

    trial = trial_of(HONEST, ordinary())
    for law in LAWS.values():
        calls.clear()
        found = law.check(replace(trial, call=call))
        assert len(calls) <= 1
        assert [fault.lost_process for fault in found.faults] == [True] * len(calls)


def test_a_variant_that_the_kernel_does_not_support_says_nothing():
    trial = trial_of(HONEST, ordinary())

    def call(case):
        return Call(returned=None, faults=())

    for name, law in LAWS.items():
        found = law.check(replace(trial, call=call))
        assert found.faults == ()
        assert (found.rows > 0) == (name == "hull")


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (ValueError("o must be contiguous"), True),
        (RuntimeError("unsupported strides"), True),
        (NotImplementedError("Stride (5, 1) of s"), True),
        (ValueError("o is not to my liking"), False),
        (KeyError("stride"), False),
    ],
)
def test_strides_may_be_refused_with_an_error_that_says_so(error, refused):
    class Dense(Merge):
        def __call__(self, *args):
            if not all(tensor.is_contiguous() for tensor in args[:4]):
                raise error
            return super().__call__(*args)

    found = checked("strides", Dense(), ordinary())
    assert found.rows == 15
    assert bool(found.faults) is not refused


def test_a_kernel_that_works_otherwise_on_many_rows_is_noticed():
    class Many(Merge):
        def order(self, segments):
            return range(segments)[:: -1 if self.many else 1]

        def rows(self, o, m, s, active):
            self.many = o.shape[0] * o.shape[1] >= 256
            return super().rows(o, m, s, active)

    case = ordinary(tokens=2, heads=2, segments=24, rank=40)
    found = [checked("batch", Many(), case, seed=seed).faults for seed in range(16)]
    assert 1 <= sum(map(bool, found)) <= 12  # whenever its turn among the numbers of copies has come
