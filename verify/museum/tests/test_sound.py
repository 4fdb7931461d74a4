"""No sound kernel of the museum is rejected: a false alarm is a failure of the suite."""

import pytest

from fuzz.draw import COMBINATIONS, combination_of, draw_recipe
from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from verify.museum.registry import SOUND
from verify.museum.tests.noticing import SMALL, faults_of

NUMBERS = [number for number in range(COMBINATIONS) if combination_of(number)]
EXACT = [sound for sound in SOUND.values() if sound.bounds == "default"]
# The slow ones see each family once, in formats that take turns.
FIRST_TURN = NUMBERS[: len({combination_of(number)[0] for number in NUMBERS})]


@pytest.mark.parametrize("sound", EXACT, ids=lambda sound: sound.name)
def test_a_sound_kernel_passes_every_family(sound):
    for number in NUMBERS if sound.outputs is None else FIRST_TURN:
        recipe = draw_recipe(20, number, SMALL)
        if sound.outputs is not None and recipe.outputs > sound.outputs:
            continue
        assert faults_of(sound, recipe)[1] == (), recipe


def test_the_numbers_meet_every_family_and_format():
    assert {combination_of(number)[1] for number in NUMBERS} == set(FORMATS)
    assert {combination_of(number)[0] for number in NUMBERS} <= set(FAMILIES)
    assert {combination_of(number)[0] for number in FIRST_TURN} == {combination_of(n)[0] for n in NUMBERS}
    assert len(EXACT) >= 8
