"""What notices a kernel of the museum on the cases of its label, without a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from fuzz.case import MergeCase
from fuzz.draw import combination_of, draw_recipe
from fuzz.formats import FORMATS
from fuzz.recipe import Recipe, expand
from fuzz.strategies import Size
from verify.bounds import load_bounds
from verify.judge import judge
from verify.museum.exhibit import Exhibit, Piece
from verify.observed import Fault
from verify.oracle.evaluate import evaluate
from verify.oracle.values import Exact
from verify.subjects.call import Call, call_subject
from verify.subjects.load import load_subject

SMALL = Size(outputs=128, elements=1 << 12)
BOUNDS = load_bounds()


def recipes_for(exhibit: Exhibit, most: int = 40) -> Iterator[Recipe]:
    """Draw recipes as the exhibit's label asks for them, its families in turn."""
    numbers = (n for n in range(10_000) if combination_of(n)[0] in exhibit.families)
    wanted = (n for n in numbers if not exhibit.dtypes or combination_of(n)[1] in exhibit.dtypes)
    order = sorted((next(wanted) for _ in range(2 * most)), key=lambda n: (_turn(n, exhibit), n))
    shape: dict[str, Any] = dict(exhibit.shape)
    for number in order[:most]:
        yield replace(draw_recipe(31, number, SMALL), **shape)


def _turn(number: int, exhibit: Exhibit) -> int:
    # The first family of a label gets the first half of the cases.
    return 0 if combination_of(number)[0] == exhibit.families[0] else 1


@cache
def case_of(recipe_json: str) -> tuple[MergeCase, Exact]:
    """Expand and solve a recipe, once for all kernels."""
    case = expand(Recipe.from_json(recipe_json))
    return case, exact_of(case)


def exact_of(case: MergeCase) -> Exact:
    """Solve a case."""
    return evaluate(
        case.segm_output,
        case.segm_max,
        case.segm_expsum,
        case.active,
        FORMATS[case.out_dtype],
        FORMATS["float32"],
        processes=1,
    )


def faults_of(piece: Piece, recipe: Recipe) -> tuple[Call, tuple[Fault, ...]]:
    """Call a kernel on a recipe's case: what came back, and all that is wrong with it."""
    case, exact = case_of(recipe.to_json())
    call = call_subject(load_subject(piece.path), case)
    if call.returned is None:
        return call, call.faults
    return call, (*call.faults, *judge(case, call.returned, exact, BOUNDS).faults)
