import math

import pytest

from reports.movers import movers
from reports.tests.examples import report, stratum


def of(*strata):
    return report(strata=strata)


def test_every_stratum_of_either_report_is_paired():
    before = of(stratum("a", margin=0.5), stratum("b"))
    after = of(stratum("c"), stratum("a", margin=0.75))
    found = {mover.key.family: mover for mover in movers(before, after)}
    assert sorted(found) == ["a", "b", "c"]
    assert [found[name].vanished for name in "abc"] == [False, True, False]
    assert [found[name].appeared for name in "abc"] == [False, False, True]
    assert found["a"].margin_change == 0.25
    assert (found["b"].after_margin, found["c"].before_judged_ulp) == (None, None)
    assert found["b"].margin_change == found["c"].judged_change == 0.0
    assert all(mover.moved for mover in found.values())


def test_a_stratum_is_told_apart_by_all_four_parts_of_its_name():
    names = [("a", "float32", "output"), ("a", "float16", "output"), ("a", "float32", "lse")]
    assert len(movers(of(stratum(*names[0])), of(*(stratum(*name) for name in names[1:])))) == 3


def test_what_is_as_it_was_did_not_move():
    same = movers(of(stratum("a", margin=math.inf)), of(stratum("a", margin=math.inf)))
    assert [mover.moved for mover in same] == [False]
    assert same[0].margin_change == 0.0


@pytest.mark.parametrize("change", [{"judged_ulp": 0.6}, {"margin": 0.5}, {"failed": 1}])
def test_whatever_a_bound_speaks_of_counts_as_a_move(change):
    assert movers(of(stratum("a")), of(stratum("a", **change)))[0].moved


def test_the_order_is_vanished_then_worst():
    names = ("better", "failing", "gone", "new", "same", "slightly", "worse")
    before = [stratum(name, judged_ulp=0.4) for name in names if name != "new"]
    after = [
        stratum("better", judged_ulp=0.3),
        stratum("failing", judged_ulp=0.4, failed=2),
        stratum("new"),
        stratum("same", judged_ulp=0.4),
        stratum("slightly", judged_ulp=0.41),
        stratum("worse", judged_ulp=0.6),
    ]
    order = [mover.key.family for mover in movers(of(*before), of(*after))]
    assert order == ["gone", "failing", "worse", "slightly", "new", "same", "better"]
