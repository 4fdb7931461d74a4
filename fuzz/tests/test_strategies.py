"""The strategies: what they draw, and that what they draw shrinks."""

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from fuzz.case import MergeCase
from fuzz.families import DRAWN
from fuzz.signatures import signatures
from fuzz.strategies import Size, merge_cases, recipes

QUIET = settings(
    database=None, deadline=None, max_examples=200, suppress_health_check=list(HealthCheck), derandomize=True
)


@settings(QUIET, max_examples=25, phases=[Phase.generate])
@given(case=merge_cases(families=["empties", "specials"], dtypes=["float16"], size=Size(outputs=64)))
def test_cases_are_of_the_families_and_dtypes_asked_for(case):
    assert isinstance(case, MergeCase)
    assert case.recipe is not None
    assert case.recipe.family in ("empties", "specials")
    assert case.out_dtype == "float16"
    assert case.T * case.H == 1 or case.outputs <= 64


@pytest.mark.parametrize("family", DRAWN)
def test_recipes_shrink_to_the_smallest_case(family):
    least = find(recipes(DRAWN[family], "float32"), lambda recipe: True, settings=QUIET)
    shapes = DRAWN[family].shapes
    assert (least.tokens, least.heads, least.seed) == (shapes.tokens[0], shapes.heads[0], 0)
    simplest = min(filter(shapes.fits, signatures(0, 64)))
    assert (least.segments, least.rank, least.tile_size) == (
        simplest.segments,
        simplest.rank,
        simplest.tile_size,
    )
    assert simplest.segments == {"cancellation": 4}.get(family, shapes.least_segments)


def test_a_condition_is_kept_while_the_rest_shrinks():
    least = find(
        recipes(DRAWN["empties"], "float32"),
        lambda recipe: recipe.params["encoding"] == "wild" and recipe.segments >= 3,
        settings=QUIET,
    )
    three = min(signature for signature in signatures(0, 64) if signature.segments == 3)
    assert (least.tokens, least.heads, least.segments, least.rank) == (1, 1, 3, three.rank)
    assert least.params["position"] == "first"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"families": ["emptis"]}, "unknown family 'emptis'.*did you mean empties"),
        ({"families": ["mutants"]}, "unknown family 'mutants'"),
        ({"dtypes": ["float7"]}, "unknown dtype 'float7'"),
    ],
)
def test_unknown_names_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        merge_cases(**arguments)
