"""The drawn stream: a pure function of (seed, number) that goes round everything."""

import os
import subprocess
import sys
from collections import Counter
from itertools import product

import pytest

from fuzz.draw import COMBINATIONS, combination_of, draw_recipe, signature_limit
from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from fuzz.signatures import Signature, signatures
from fuzz.strategies import ORDINARY, Size

ROUND = COMBINATIONS

ELSEWHERE = """
import sys
from fuzz.draw import draw_recipe
for number in map(int, sys.argv[1:]):
    print(draw_recipe(5, number).to_json())
"""


@pytest.mark.parametrize("start", [0, 1, 37, 10**12])
def test_consecutive_numbers_meet_every_family_with_every_dtype_once(start):
    met: Counter[tuple[str, str]] = Counter()
    for number in range(start, start + ROUND):
        recipe = draw_recipe(0, number)
        met[recipe.family, recipe.dtype] += 1
    assert met == Counter(product(DRAWN, FORMATS))


def test_another_process_in_another_order_draws_the_same(tmp_path):
    numbers = list(range(0, 300, 7))
    here = {number: draw_recipe(5, number).to_json() for number in numbers}
    for hash_seed, order in (("0", numbers), ("1234", numbers[::-1])):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.getcwd()}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", ELSEWHERE, *map(str, order)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert done.stdout.splitlines() == [here[number] for number in order]
    assert list(tmp_path.iterdir()) == []  # no .hypothesis folder, nothing


def test_seeds_and_numbers_differ():
    recipes = {draw_recipe(seed, number).to_json() for seed in range(3) for number in range(ROUND)}
    assert len(recipes) == 3 * ROUND
    assert draw_recipe(2**70, 3) == draw_recipe(2**70, 3)


def test_sizes_are_kept_and_ordinary_draws_are_neither_tiny_nor_huge():
    drawn = [draw_recipe(9, number) for number in range(3 * ROUND)]
    outputs = sorted(recipe.outputs for recipe in drawn)
    assert outputs[-1] <= ORDINARY.outputs
    assert 200 <= outputs[len(outputs) // 2] <= 3000
    assert any(recipe.rank == 512 and recipe.outputs > 512 for recipe in drawn)
    elements = [recipe.outputs * recipe.segments for recipe in drawn]
    # A single row may be larger than that: S = 257 with R = 1024.
    assert max(elements) <= max(ORDINARY.elements, 257 * 1024)
    large = [draw_recipe(9, number, Size(outputs=1 << 16, elements=1 << 20)) for number in range(ROUND)]
    assert max(recipe.outputs for recipe in large) > ORDINARY.outputs


def test_every_value_of_every_parameter_is_drawn_and_the_sizes_of_production():
    seen: dict[str, Counter[tuple[str, object]]] = {name: Counter() for name in DRAWN}
    tokens, heads = set(), set()
    for number in range(20 * ROUND):
        recipe = draw_recipe(5, number)
        seen[recipe.family].update(recipe.params.items())
        tokens.add(recipe.tokens)
        heads.add(recipe.heads)
    assert {1, 257, 1000, 2000} <= tokens
    assert {1, 64, 96, 97, 128} <= heads
    for name, family in DRAWN.items():
        for key, parameter in family.parameters.items():
            values = {value for (which, value), _ in seen[name].items() if which == key}
            wanted = getattr(parameter, "values", None)
            if wanted is not None:
                assert values == set(wanted), (name, key)
            else:
                assert len(values) >= 2, (name, key)


def signature_of(recipe):
    return Signature(segments=recipe.segments, rank=recipe.rank, tile_size=recipe.tile_size)


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_a_round_meets_the_first_eight_signatures_of_its_seed_and_no_other(seed):
    met = {signature_of(draw_recipe(seed, number)) for number in range(ROUND)}
    assert met == set(signatures(seed, 8))


def test_later_rounds_meet_those_that_the_limit_says():
    for first, last, most in ((1, 6, 24), (6, 20, 64)):
        numbers = range(first * ROUND, last * ROUND, 5)
        assert {signature_limit(number) for number in numbers} == {most}
        met = {signature_of(draw_recipe(4, number)) for number in numbers}
        assert met <= set(signatures(4, most))
        assert len(met) > 0.8 * most


def test_the_limit_grows_slowly_for_ever():
    limits = [signature_limit(turn * ROUND - step) for turn in (1, 6, 20) for step in (1, 0)]
    assert limits[:5] == [8, 24, 24, 64, 64]
    assert 64 < limits[5] < 80
    assert signature_limit(0) == 8
    later = [signature_limit(ROUND * 2**k) for k in range(5, 60)]
    assert later == sorted(later)
    assert later[-1] < 600
    assert combination_of(ROUND) == combination_of(0)


def test_a_negative_number_is_refused():
    with pytest.raises(ValueError, match="number is -1"):
        draw_recipe(0, -1)
