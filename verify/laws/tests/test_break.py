"""Every law notices a merge that breaks it, says where, and says nothing else."""

import math

import pytest
import torch

from verify.laws import LAWS
from verify.laws.tests.trials import HONEST, checked, ordinary, written
from verify.museum.honest import Merge
from verify.observed import FaultKind

NAN, INF = math.nan, math.inf


class Nudged(Merge):
    """Adds a little to the outputs or lses of some calls and rows; subclasses say of which."""

    calls = 0

    def __call__(self, *args):
        self.calls += 1
        return super().__call__(*args)

    def rows(self, o, m, s, active):
        y, lse = super().rows(o, m, s, active)
        rows = self.nudged(o, m, s, active).expand(lse.shape)
        return torch.where(rows[..., None], y * self.factor, y), torch.where(rows, lse + self.added, lse)

    factor, added = 1 + 2.0**-18, 0.0

    def nudged(self, o, m, s, active):
        raise NotImplementedError


class SecondCall(Nudged):
    def nudged(self, o, m, s, active):
        return torch.tensor([[self.calls % 2 == 0]])


class ByRows(Nudged):
    def nudged(self, o, m, s, active):
        return torch.tensor([[m.shape[0] * m.shape[1] in (1, 45, 60, 150)]])


class ByToken(Nudged):
    def nudged(self, o, m, s, active):
        return torch.arange(m.shape[0])[:, None] == 1


class ByNeighbour(Nudged):
    def nudged(self, o, m, s, active):
        return o.isnan().any()[None, None]


class ByTail(Nudged):
    def nudged(self, o, m, s, active):
        return m[..., -1].isnan() | (m[..., -1] > 100) | (m[..., -1] == 0)


class ByEncoding(Nudged):
    def nudged(self, o, m, s, active):
        return (s.isnan() | (m > 100)).any(-1)


class ByMaximum(Nudged):
    def nudged(self, o, m, s, active):
        return m[..., 0] != 3.25


class LseInBits(Merge):
    def logarithm(self, top, den):
        return super().logarithm(top, den) / math.log(2)


class ByMass(Nudged):
    def nudged(self, o, m, s, active):
        return s[..., 0] != 1.5


class Epsilon(Merge):
    def sums(self, weight, o, s):
        num, den = super().sums(weight, o, s)
        return num, den + 1e-5


class Unscaled(Merge):
    def quotient(self, num, den):
        y = super().quotient(num, den)
        return torch.where(y.abs() > 2.0, y + 2.0**-10, y)


class Doubled(Merge):
    def quotient(self, num, den):
        return super().quotient(num, den) * 2


class Quartered(Merge):
    def quotient(self, num, den):
        return super().quotient(num, den) / 4


class TakesOutputs(Merge):
    """Fills the outputs that it is handed, the last column of them not."""

    columns = slice(0, -1)

    def __call__(self, *args, output=None, lse=None):
        values = super().__call__(*args)
        if output is None:
            return values
        output[..., self.columns] = values[0][..., self.columns]
        return output, lse.copy_(values[1])


class TakesOutputsHonestly(TakesOutputs):
    columns = slice(None)


class KeepsActive(Merge):
    """Computes with the lengths of the call before, if that had as many tokens."""

    def __init__(self):
        self.before = torch.zeros(0)

    def active(self, seq_lens, segments, tile_size):
        now = super().active(seq_lens, segments, tile_size)
        active = self.before if self.before.shape == now.shape else now
        self.before = now
        return active


class Misread(Merge):
    """Takes o as if its rows followed one another."""

    def __call__(self, o, *rest):
        dense = o.as_strided(o.shape, o.contiguous().stride(), 0) if o.stride(-1) == 1 else o
        return super().__call__(dense, *rest)


# One row whose maxima are 3.25 and 1, and whose masses 1.5 and 2: what the faulty merges above look for.
PLAIN = written([[[3.25, 1.0]]], [[[1.5, 2.0]]], [[[[3.0, 1.0], [0.5, 1.0]]]])
EMPTY = written([[[1.0, -INF, 0.0]]], [[[1.0, 1.0, 0.0]]], [[[[1.0], [0.0], [0.0]]]])


@pytest.mark.parametrize(
    ("law", "merge", "case", "result"),
    [
        ("repeat", SecondCall(), ordinary(), "output"),
        ("repeat", KeepsActive(), ordinary(segments=9), "output"),
        ("batch", ByRows(), ordinary(), "output"),
        ("neighbours", ByNeighbour(), ordinary(), "output"),
        ("position", ByToken(), ordinary(), "output"),
        ("tail", ByTail(), ordinary(), "output"),
        ("empties", ByEncoding(), EMPTY, "output"),
        ("strides", Misread(), ordinary(), "output"),
        ("outputs", TakesOutputs(), ordinary(), "output"),
        ("shift", ByMaximum(), PLAIN, "output"),
        ("shift", LseInBits(), PLAIN, "lse"),
        ("scale", Unscaled(), PLAIN, "output"),
        ("mass", Epsilon(), PLAIN, "output"),
        ("mass", LseInBits(), PLAIN, "lse"),
        ("constant", Epsilon(), PLAIN, "output"),
        ("hull", Doubled(), PLAIN, "output"),
        ("hull", Quartered(), PLAIN, "output"),
        ("single", Epsilon(), PLAIN, "output"),
        ("single", LseInBits(), PLAIN, "lse"),
    ],
)
def test_a_law_notices_a_merge_that_breaks_it(law, merge, case, result):
    # Most choices of a variant show the fault; which does is the seed's to say.
    found = [checked(law, merge, case, seed=seed) for seed in range(6)]
    faults = [fault for each in found for fault in each.faults if fault.result == result]
    assert faults
    for fault in faults:
        kind = FaultKind.NONDETERMINISTIC if law == "repeat" else FaultKind.BROKEN_LAW
        assert (fault.kind, fault.detector, fault.cause) == (kind, f"law {law}", f"law {law}")
        assert len(fault.where) == (2 if result == "lse" else 3)
        assert fault.got != fault.exact
        assert fault.count >= 1
        assert "\n" not in fault.message
        assert fault.ulp is None if math.isnan(fault.got) else abs(fault.ulp) > 0.5


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("law", LAWS)
def test_an_honest_merge_breaks_none_of_them_there(law, exact):
    for case in (PLAIN, EMPTY, ordinary(), ordinary(tokens=0), ordinary(tokens=1, heads=1)):
        assert checked(law, HONEST, case, exact=exact).faults == ()


def test_outputs_speaks_of_kernels_that_take_them_and_of_no_others():
    assert checked("outputs", HONEST, ordinary()).rows == 0
    found = checked("outputs", TakesOutputsHonestly(), ordinary())
    assert (found.rows, found.faults) == (15, ())


@pytest.mark.parametrize(("law", "base"), [("shift", ByMaximum), ("mass", ByMass)])
def test_what_the_bounds_allow_is_a_breach_of_exact_algebra_alone(law, base):
    # 2^-10 moves one bfloat16 in a few to its neighbour, and two results may be an ulp apart; 2^-6 is two.
    case = ordinary(rank=100, segments=2, dtype="bfloat16")
    case.segm_max[..., 0], case.segm_expsum[..., 0] = 3.25, 1.5
    little = type("Little", (base,), {"factor": 1 + 2.0**-10})()
    much = type("Much", (base,), {"factor": 1 + 2.0**-6})()
    assert checked(law, little, case).faults
    assert not checked(law, little, case, exact=False).faults
    assert checked(law, much, case, exact=False).faults


def test_an_lse_that_depends_on_o_is_noticed_by_scale():
    class Heavy(Merge):
        def rows(self, o, m, s, active):
            y, lse = super().rows(o, m, s, active)
            return y, torch.where(o.abs().amax((-1, -2)) > 3, lse + 1, lse)

    for exact in (True, False):
        found = [checked("scale", Heavy(), PLAIN, seed=seed, exact=exact) for seed in range(6)]
        assert any(fault.result == "lse" for each in found for fault in each.faults)
