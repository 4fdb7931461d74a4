"""Recipes as text, and what is said about those that are wrong."""

import json

import pytest

from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.recipe import Recipe
from fuzz.tests.inspection import recipe


def test_text_and_back_for_every_family():
    for number in range(2 * len(DRAWN)):
        drawn = draw_recipe(1, number)
        text = drawn.to_json()
        assert "\n" not in text
        assert Recipe.from_json(text) == drawn
        assert Recipe.from_json(text).to_json() == text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"family": "emptys"}, r"unknown family 'emptys': one of producer,.*did you mean empties"),
        ({"family": ["empties"]}, r"unknown family \['empties'\]"),
        ({"dtype": "bfloat61"}, r"unknown dtype 'bfloat61': one of float32,.*did you mean bfloat16"),
        ({"dtype": 7}, "unknown dtype 7"),
        ({"tokens": 0}, r"tokens is 0, an integer in 1 … 65536 is wanted"),
        ({"heads": "3"}, "heads is '3'"),
        ({"segments": True}, "segments is True"),
        ({"rank": 1.5}, "rank is 1.5"),
        ({"tile_size": 2**31}, "tile_size is 2147483648"),
        ({"seed": -1}, "seed is -1"),
        ({"tokens": 60000, "rank": 60000}, "at most 1073741824 are expanded"),
        ({"params": 3}, "params is int, an object is wanted"),
        ({"params": {"encodings": "phantom"}}, r"unknown parameter 'encodings':.*did you mean encoding"),
        ({"params": {"encoding": "phantom"}}, "parameter 'position' is missing"),
        (
            {"params": {"encoding": "fantom", "position": "all", "lengths": "full"}},
            r"parameter 'encoding': 'fantom' came, one of.*did you mean phantom",
        ),
        ({"colour": "red"}, "unknown recipe field 'colour'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change, complaint):
    record = json.loads(recipe("empties").to_json())
    with pytest.raises(ValueError, match=complaint) as caught:
        Recipe.from_json(json.dumps({**record, **change}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100000, "not JSON"),
        ('{"seed": ' + "9" * 5000 + "}", "not JSON"),
        ("[1]", "JSON list, an object is wanted"),
        ("{}", "lacks family, dtype, tokens"),
    ],
)
def test_what_is_no_recipe_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        Recipe.from_json(text)
    assert "\n" not in str(caught.value)


def test_spans_and_flags_know_their_types():
    for change, complaint in [
        ({"window": 1}, "parameter 'window': 1 came, true or false is wanted"),
        ({"verify": True}, "parameter 'verify': True came, an integer in 1 … 8 is wanted"),
        ({"verify": 9}, "parameter 'verify': 9 came"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            recipe("producer", params=change)
