"""Cases made on a GPU have the bits of those made on the CPU."""

import pytest
import torch

from fuzz.draw import COMBINATIONS, draw_recipe
from fuzz.families import FAMILIES
from fuzz.mutation import mutants_of
from fuzz.recipe import expand
from fuzz.strategies import Size
from fuzz.tests.test_shapes import FIELDS, bits, rotating

SIZE = Size(outputs=2048, elements=1 << 16)


def recipes():
    """Return recipes of all families: those that turn through everything, drawn ones, and mutants."""
    found = [rotating(family) for family in FAMILIES]
    found += [draw_recipe(8, number, SIZE) for number in range(COMBINATIONS)]
    parents = [expand(recipe) for recipe in found[::9]]
    return found + [
        mutants_of(case, (0, 0, 0), seed=n, tokens=5, heads=4, rank=9, strength=n % 4)
        for n, case in enumerate(parents)
    ]


def differing(recipe) -> list[str]:
    """Return the names of the tensors that differ."""
    here, there = expand(recipe), expand(recipe, "cuda")
    assert all(getattr(there, field).device.type == "cuda" for field in FIELDS)
    assert all(getattr(there, field).stride() == getattr(here, field).stride() for field in FIELDS)
    assert (here.layout, here.domain, here.recipe) == (there.layout, there.domain, there.recipe)
    pairs = zip(FIELDS, bits(here), bits(there), strict=True)
    return [name for name, one, other in pairs if not torch.equal(one, other.cpu())]


@pytest.mark.gpu
def test_every_family_has_the_same_bits_on_a_gpu():
    failed = []
    for recipe in recipes():
        try:
            names = differing(recipe)
        except (RuntimeError, AssertionError) as error:
            names = [str(error).splitlines()[0]]
        if names:
            failed.append((recipe.family, recipe.dtype, names))
    assert failed == []


@pytest.mark.gpu
def test_a_large_case_has_the_same_bits_on_a_gpu():
    case = expand(draw_recipe(8, 0, SIZE))
    recipe = mutants_of(case, (0, 0, 0), seed=1, tokens=64, heads=16, rank=512, strength=3)
    assert differing(recipe) == []


def test_the_comparison_notices_a_changed_bit():
    case = expand(rotating("ties"))
    before = [tensor.clone() for tensor in bits(case)]
    case.segm_output.view(torch.int32)[0, 0, 0, 0] ^= 1
    pairs = zip(before, bits(case), strict=True)
    assert [bool(torch.equal(one, other)) for one, other in pairs] == [False, True, True, True]
