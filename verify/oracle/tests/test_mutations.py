"""The oracle itself, broken on purpose: every safeguard that goes must be noticed."""

import math

import pytest
import torch

from verify.oracle import cascade, exact, powers, tiers, weights
from verify.oracle.doubled import exact_total, fast_two_sum
from verify.oracle.logarithms import logarithm
from verify.oracle.pending import Pending
from verify.oracle.rounding import Rounded, round_values
from verify.oracle.target import Base
from verify.oracle.tests.bases import OTHERS, Bases
from verify.oracle.tests.seven import FORMATS
from verify.oracle.tests.test_tiers import compared
from verify.oracle.weights import weigh

ROWS = 1800
FEWER_ROWS = 616  # of which each is noticed


def _without_low_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(m, s, active, base):
        found = weigh(m, s, active, base)
        found.pieces[2].zero_()
        found.weight[1].zero_()
        return found

    monkeypatch.setattr(cascade, "weigh", mutant)


def _without_compensation(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(x):
        hi = x[0].sum(-1)
        return hi, torch.zeros_like(hi)

    monkeypatch.setattr(tiers, "total", mutant)


def _without_the_exact_products(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(pieces, a):
        return fast_two_sum((pieces[0] + pieces[1]) * a, pieces[2] * a)

    monkeypatch.setattr(tiers, "scale", mutant)


def _without_tie_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(picked, guess, weights, fmt):
        return round_values(guess, fmt), torch.zeros_like(guess, dtype=torch.bool)

    monkeypatch.setattr(cascade, "comparing_tier", mutant)


def _with_exactness_taken_for_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    sum_up = exact_total

    def mutant(x):
        found, exact_ = sum_up(x)
        return found, torch.ones_like(exact_)

    monkeypatch.setattr(tiers, "exact_total", mutant)


def _with_a_smaller_float64_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "U", 2.0**-53 / 100)  # the factor N + 8 and more


def _with_a_smaller_double_double_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "EPS_NUM", 2.0**-112)
    monkeypatch.setattr(tiers, "EPS_QUOTIENT", 2.0**-112)


def _without_the_binade_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(x):
        return torch.zeros_like(x, dtype=torch.bool)

    monkeypatch.setattr("verify.oracle.rounding.is_power_of_two", mutant)


def _with_roundings_to_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(x, fmt, largest=math.inf) -> Rounded:
        return round_values(torch.nextafter(x, torch.full_like(x, math.inf)), fmt, largest)

    monkeypatch.setattr(tiers, "round_values", mutant)


def _without_the_lse_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "EPS_DEN", 0.0)

    def mutant(*arguments):
        value, bound, rational = logarithm(*arguments)
        return value, torch.zeros_like(bound), rational

    monkeypatch.setattr(cascade, "logarithm", mutant)


def _with_every_mass_taken_for_a_single_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(*arguments):
        value, bound, rational = logarithm(*arguments)
        bound[rational] = -1.0  # pays for what the cascade adds, and more
        return value, bound, rational

    monkeypatch.setattr(cascade, "logarithm", mutant)


def _with_weights_of_the_other_base(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {Base.TWO: Base.E, Base.E: Base.TWO}
    monkeypatch.setattr(cascade, "weigh", lambda m, s, active, base: weigh(m, s, active, other[base]))


def _with_an_lse_of_the_other_base(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {Base.TWO: Base.E, Base.E: Base.TWO}
    monkeypatch.setattr(cascade, "logarithm", lambda m, n, c, base, out: logarithm(m, n, c, base, other[out]))


def _with_an_exact_tier_that_forgets_the_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "Pending", lambda base, lse_base: Pending(Base.TWO, Base.E))


def _with_a_shorter_step_of_e(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(powers, "_STEP", (*powers._STEP[:2], 0.0))


def _with_whole_numbers_taken_for_exact_in_base_e(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(m, s, active, base):
        found = weigh(m, s, active, base)
        apart = m.double() - found.maximum[:, None]
        found.whole.logical_or_(found.live & (apart == apart.round()) & (apart > -400))
        return found

    monkeypatch.setattr(cascade, "weigh", mutant)


def _with_too_many_weights_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights.SMALLEST, Base.E, -30.0)


MUTANTS = [
    _without_low_word,
    _without_compensation,
    _without_the_exact_products,
    _without_tie_test,
    _with_exactness_taken_for_granted,
    _with_a_smaller_float64_bound,
    _with_a_smaller_double_double_bound,
    _without_the_binade_test,
    _with_roundings_to_odd,
    _without_the_lse_bound,
]


IN_OTHER_BASES = [
    (_without_the_lse_bound, Bases(Base.TWO, Base.TWO), ROWS),
    (_without_the_lse_bound, Bases(Base.E, Base.TWO), ROWS),
    (_without_the_lse_bound, Bases(Base.E, Base.E), ROWS),
    (_with_every_mass_taken_for_a_single_segment, Bases(Base.TWO, Base.TWO), ROWS),
    (_with_weights_of_the_other_base, Bases(Base.TWO, Base.TWO), FEWER_ROWS),
    (_with_weights_of_the_other_base, Bases(Base.E, Base.TWO), FEWER_ROWS),
    (_with_an_lse_of_the_other_base, Bases(Base.TWO, Base.TWO), FEWER_ROWS),
    (_with_an_lse_of_the_other_base, Bases(Base.E, Base.E), FEWER_ROWS),
    (_with_an_exact_tier_that_forgets_the_bases, Bases(Base.TWO, Base.TWO), FEWER_ROWS),
    (_with_an_exact_tier_that_forgets_the_bases, Bases(Base.E, Base.E), FEWER_ROWS),
    (_with_a_shorter_step_of_e, Bases(Base.E, Base.E), FEWER_ROWS),
    (_with_whole_numbers_taken_for_exact_in_base_e, Bases(Base.E, Base.E), ROWS),
    (_with_too_many_weights_dropped, Bases(Base.E, Base.TWO), FEWER_ROWS),
    (_without_low_word, Bases(Base.E, Base.E), FEWER_ROWS),
    (_without_tie_test, Bases(Base.E, Base.E), FEWER_ROWS),
    (_with_a_smaller_double_double_bound, Bases(Base.E, Base.E), FEWER_ROWS),
]


def test_nothing_is_noticed_without_a_mutation():
    assert compared(ROWS, seed=31)[1] == 0


@pytest.mark.parametrize("bases", OTHERS)
def test_nothing_is_noticed_in_other_bases_without_a_mutation(bases):
    assert compared(ROWS, 31, bases)[1] == 0


@pytest.mark.parametrize(("mutate", "bases", "rows"), IN_OTHER_BASES)
def test_mutations_are_noticed_in_other_bases(mutate, bases, rows, monkeypatch, capsys):
    mutate(monkeypatch)
    _, wrong, _, _ = compared(rows, 31, bases)
    with capsys.disabled():
        print(f" {wrong} noticed ", end="")
    assert wrong > 0


@pytest.mark.parametrize("bases", OTHERS)
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_a_plain_oracle_that_guesses_the_side_of_an_lse_is_noticed(side, bases, monkeypatch):
    """By lses that are ties, to even downwards and upwards, and by such that a far segment makes larger."""
    fmt = FORMATS["float8_e5m2"]
    if bases.base is bases.lse_base:
        rows = [([tie], [1.0]) for tie in (1.125, 1.375)]
    else:
        rows = [([0.0], [2.0**tie]) for tie in (9, 11)]
    rows += [([*m, -3e38], [*s, 1.0]) for m, s in rows]

    def rounded() -> list[float]:
        return [exact.Row(m, s, bases.base).lse(fmt, bases.lse_base).rounded for m, s in rows]

    right = [1.0, 1.5, 1.25, 1.5] if bases.base is bases.lse_base else [8.0, 12.0, 10.0, 12.0]
    assert rounded() == right
    monkeypatch.setattr(exact.Row, "_side_of_lse", lambda self, lse_base, sign, unit, edge: side)
    assert rounded() != right


def test_mutations_of_the_plain_oracle_are_noticed(monkeypatch):
    """Against the tiers, which decide most ties by themselves."""
    monkeypatch.setattr(exact.Row, "_side", lambda self, column, unit, edge: 1)
    assert compared(ROWS, seed=31)[1] > 50
