"""The logarithm of a mass as a double-double, with a proved bound (derived in the README of this package)."""

import math

import torch

from verify.oracle.doubled import Doubled, add, fast_two_sum, multiply, two_sum
from verify.oracle.powers import INVERSE_LN2, LN2, constant, exp2
from verify.oracle.target import Base

CLOSE = 2.0**-46
"""How good a guess of a logarithm must be to be corrected."""


def ln(c: Doubled) -> tuple[Doubled, torch.Tensor]:
    """Return ln c for c in [0.7, 1.42], and where its absolute error is below 2^-98.6.

    The float64 logarithm y of c is only a guess: e^-y·c − 1 = δ corrects it, ln c = y + ln(1 + δ). It is not
    certain where the guess is not as good as |δ| ≤ CLOSE.
    """
    guess = torch.log(c[0])
    zero = torch.zeros_like(guess)
    inverse = exp2(multiply(constant(INVERSE_LN2, guess), (-guess, zero)))
    delta = add(multiply(c, inverse), (-torch.ones_like(guess), zero))
    correction = delta[0] + (delta[1] - delta[0] * delta[0] / 2)
    return two_sum(guess, correction), delta[0].abs() <= CLOSE


def logarithm(
    maximum: torch.Tensor, n: torch.Tensor, c: Doubled, base: Base, lse_base: Base
) -> tuple[Doubled, torch.Tensor, torch.Tensor]:
    """Return the logarithm to lse_base of base^maximum · 2^n · c, n whole and c in [0.7, 1.42].

    Also a bound on its absolute error, infinite where nothing is certain; and where c = 1 makes the logarithm
    rational and the result exact.
    """
    fraction, certain = ln(c)
    zero = torch.zeros_like(n)
    size = maximum.abs() + n.abs()
    one = (c[0] == 1) & (c[1] == 0)
    if lse_base is Base.TWO:
        fraction = multiply(fraction, constant(INVERSE_LN2, n))
    if base is Base.TWO:
        k = two_sum(maximum, n)
        size = k[0].abs()
        whole = k if lse_base is Base.TWO else multiply(k, constant(LN2, n))
        exact = one if lse_base is Base.TWO else one & (k[0] == 0) & (k[1] == 0)
    elif lse_base is Base.TWO:
        whole = add(multiply((maximum, zero), constant(INVERSE_LN2, n)), (n, zero))
        exact = one & (maximum == 0)
    else:
        whole = add(multiply((n, zero), constant(LN2, n)), (maximum, zero))
        exact = one & (n == 0)
    hi, lo = fast_two_sum(*add(whole, fraction))
    value = torch.where(exact, whole[0], hi), torch.where(exact, whole[1], lo)
    return value, torch.where(certain, 2.0**-97 + size * 2.0**-101, math.inf), exact
