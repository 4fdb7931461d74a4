"""How the tests look into a case: by the contract, in exact fractions, sharing no code with a family."""

from __future__ import annotations

from fractions import Fraction

import torch

from fuzz.case import MergeCase
from fuzz.families import FAMILIES
from fuzz.parameters import Choice, Flag, Span, Text, Value
from fuzz.recipe import Recipe


def simplest(family: str) -> dict[str, Value]:
    """Return the parameters that a reduction would end at."""
    plain: dict[str, Value] = {}
    for name, parameter in FAMILIES[family].parameters.items():
        match parameter:
            case Choice():
                plain[name] = parameter.values[0]
            case Span():
                plain[name] = parameter.low
            case Flag():
                plain[name] = False
            case Text():
                plain[name] = ""
    return plain


def recipe(family: str, dtype: str = "bfloat16", *, params=None, **changes) -> Recipe:
    shape = {"tokens": 3, "heads": 4, "segments": 8, "rank": 6, "tile_size": 4, "seed": 11}
    return Recipe(
        family=family, dtype=dtype, params={**simplest(family), **(params or {})}, **{**shape, **changes}
    )


def active(case: MergeCase) -> torch.Tensor:
    """Return which segments were written, [T, H, S] bool."""
    index = torch.arange(case.S).reshape(1, 1, -1)
    return (index < case.active.reshape(-1, 1, 1)).expand(case.T, case.H, case.S)


def empty(case: MergeCase) -> torch.Tensor:
    """Return which active segments are empty by the contract, [T, H, S] bool."""
    m, s = case.segm_max, case.segm_expsum
    return active(case) & ((m == -torch.inf) | ((s == 0) & ~m.isnan()))


def live(case: MergeCase) -> torch.Tensor:
    """Return which active segments are not empty, [T, H, S] bool."""
    return active(case) & ~empty(case)


def quotient(case: MergeCase, t: int, h: int, r: int) -> Fraction:
    """Return y exactly, of a row whose live maxima are integers; 0 where there is no mass."""
    num = den = Fraction(0)
    for i in live(case)[t, h].nonzero().flatten().tolist():
        m = float(case.segm_max[t, h, i])
        assert m == int(m)
        weight = Fraction(2) ** int(m)
        num += Fraction(float(case.segm_output[t, h, i, r])) * weight
        den += Fraction(float(case.segm_expsum[t, h, i])) * weight
    return num / den if den else Fraction(0)


def quotients(case: MergeCase) -> dict[tuple[int, int, int], Fraction]:
    """Return every y of the case, by token, head and column."""
    return {
        (t, h, r): quotient(case, t, h, r)
        for t in range(case.T)
        for h in range(case.H)
        for r in range(case.R)
    }
