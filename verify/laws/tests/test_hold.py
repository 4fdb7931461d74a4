"""No law speaks against a sound kernel, and every law speaks of enough rows."""

import math
from collections import Counter

import pytest
import torch

from verify.bounds import load_bounds
from verify.laws import LAWS
from verify.laws.tests.trials import HONEST, drawn, ordinary, trial_of
from verify.museum.honest import Merge

CASES = 102


class Backward(Merge):
    def order(self, segments):
        return reversed(range(segments))


class Pairwise(Merge):
    def sums(self, weight, o, s):
        terms = weight[..., None] * torch.cat((o.double(), s[..., None]), -1)
        while terms.shape[2] > 1:
            odd = terms[:, :, -1:] if terms.shape[2] % 2 else terms[:, :, :0]
            terms = torch.cat((terms[:, :, :-1:2] + terms[:, :, 1::2], odd), 2)
        return terms[:, :, 0, :-1], terms[:, :, 0, -1]


class Turned(Merge):
    """Adds rows of a large maximum from the back: within the bounds, but not the exact algebra."""

    def rows(self, o, m, s, active):
        live = self.live(torch.arange(m.shape[-1]) < active[:, None, None], m, s)
        large = ((m > 5) & live).any(-1) | ((s > 12) & live).any(-1)
        forward, backward = super().rows(o, m, s, active), Backward().rows(o, m, s, active)
        return torch.where(large[..., None], backward[0], forward[0]), torch.where(
            large, backward[1], forward[1]
        )


class Single(Merge):
    """Computes in float32 throughout."""

    def statistics(self, m, s):
        return m, s

    def weight(self, gap):
        return torch.where(gap < -126, 0.0, super().weight(gap).float())

    def sums(self, weight, o, s):
        num, den = torch.zeros_like(o[:, :, 0]), torch.zeros_like(weight[..., 0])
        for i in range(weight.shape[-1]):
            num = num + weight[..., i, None] * o[:, :, i]
            den = den + weight[..., i] * s[..., i]
        return num, den

    def logarithm(self, top, den):
        return (top + den.log2()) * math.log(2)

    def rounded(self, y, fmt):
        return super().rounded(y.double(), fmt)


def told(merge, cases, **how):
    rows: Counter[str] = Counter()
    faults = []
    for number, case in enumerate(cases):
        trial = trial_of(merge, case, seed=number, **how)
        for name, law in LAWS.items():
            found = law.check(trial)
            rows[name] += found.rows
            faults += [(number, fault) for fault in found.faults]
    return rows, faults


@pytest.mark.parametrize(("turn", "merge"), [(0, HONEST), (1, Backward()), (2, Pairwise())])
def test_sound_merges_keep_the_laws_bit_for_bit(turn, merge):
    # Each merge has a third of the cases, families and formats in turn.
    cases = [drawn(number) for number in range(turn, CASES, 3)]
    rows, faults = told(merge, cases)
    assert not faults
    assert set(rows) == set(LAWS)
    assert min(count for law, count in rows.items() if law != "outputs") >= 5, rows  # it takes none


def test_a_merge_without_exact_algebra_keeps_the_laws_within_its_bounds():
    cases = [drawn(number) for number in range(0, CASES, 6)]
    _, faults = told(Turned(), cases, exact=False)
    assert not faults


def test_a_float32_merge_keeps_them_within_the_bounds_of_one():
    cases = [ordinary(seed=seed, dtype=dtype) for seed in range(3) for dtype in ("float32", "bfloat16")]
    cases += [drawn(number) for number in range(1, CASES, 6)]
    rows, faults = told(Single(), cases, exact=False, bounds=load_bounds("fp32"))
    assert not faults
    assert min(count for law, count in rows.items() if law != "outputs") >= 5, rows  # it takes none


@pytest.mark.slow
@pytest.mark.parametrize("merge", [HONEST, Backward(), Pairwise()])
def test_sound_merges_keep_the_laws_on_many_cases(merge):
    assert not told(merge, (drawn(number) for number in range(1000)))[1]


def test_the_kernel_keeps_the_laws():
    from mla_merge import merge_mla_segments_triton  # noqa: PLC0415

    cases = [drawn(number) for number in range(3, CASES, 17)]
    rows, faults = told(merge_mla_segments_triton, cases)
    assert not faults
    assert sum(count > 0 for count in rows.values()) >= len(LAWS) - 1, rows
