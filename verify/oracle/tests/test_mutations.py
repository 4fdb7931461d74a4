"""The oracle itself, broken on purpose: every safeguard that goes must be noticed."""

import math

import pytest
import torch

from verify.oracle import cascade, exact, tiers
from verify.oracle.doubled import exact_total, fast_two_sum
from verify.oracle.powers import log_scaled
from verify.oracle.rounding import Rounded, round_values
from verify.oracle.tests.test_tiers import compared
from verify.oracle.weights import weigh

ROWS = 1800


def _without_low_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(m, s, active):
        weights = weigh(m, s, active)
        weights.pieces[2].zero_()
        weights.weight[1].zero_()
        return weights

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
    whole = log_scaled
    monkeypatch.setattr(cascade, "log_scaled", lambda k, c: (whole(k, c)[0], torch.zeros_like(c[0])))


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


def test_nothing_is_noticed_without_a_mutation():
    assert compared(ROWS, seed=31)[1] == 0


@pytest.mark.parametrize("mutate", MUTANTS)
def test_mutations_of_the_tiers_are_noticed(mutate, monkeypatch, capsys):
    mutate(monkeypatch)
    _, wrong, _, _ = compared(ROWS, seed=31)
    with capsys.disabled():
        print(f" {wrong} noticed ", end="")
    assert wrong > 0


def test_mutations_of_the_plain_oracle_are_noticed(monkeypatch):
    """Against the tiers, which decide most ties by themselves."""
    monkeypatch.setattr(exact.Row, "_side", lambda self, column, unit, edge: 1)
    assert compared(ROWS, seed=31)[1] > 50
