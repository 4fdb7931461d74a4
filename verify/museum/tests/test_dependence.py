"""Exhibits that keep every bound are faults all the same, and the law of their label says so."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest

from verify.laws import LAWS, Trial, evidence
from verify.museum.exhibit import Exhibit, Piece
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.tests.noticing import BOUNDS, case_of, recipes_for
from verify.subjects.call import call_subject
from verify.subjects.load import load_subject

# dense_into_strided changes no bit: it writes beside the outputs that it is handed.
LAWS_ALONE = [
    exhibit
    for exhibit in EXHIBITS.values()
    if all(d.startswith("law ") for d in exhibit.detectors) and exhibit.name != "dense_into_strided"
]


def trials(piece: Piece, like: Exhibit, most: int) -> Iterator[Trial]:
    """Yield what laws are given, on the cases of another piece's label."""
    subject = replace(load_subject(piece.path), merge=deepcopy(piece))  # some remember calls
    for seed, recipe in enumerate(recipes_for(like, most)):
        case = case_of(recipe.to_json())[0]
        call = call_subject(subject, case)
        assert call.returned is not None
        yield Trial(
            case=case,
            returned=call.returned,
            bounds=BOUNDS,
            exact=subject.capabilities.exact,
            seed=seed,
            call=lambda case: call_subject(subject, case),
            into=(lambda case: call_subject(subject, case, into=True)) if subject.takes_outputs else None,
            faults=call.faults,
        )


def spoke(piece: Piece, like: Exhibit, law: str, most: int = 30) -> int:
    """Return on which of its cases a law first speaks against a piece; −1 where it never does."""
    check = LAWS[law.removeprefix("law ")].check
    found = (n for n, trial in enumerate(trials(piece, like, most)) if check(trial).faults)
    return next(found, -1)


@pytest.mark.parametrize("exhibit", LAWS_ALONE, ids=lambda exhibit: exhibit.name)
def test_the_first_law_of_the_label_notices_the_exhibit_and_no_sound_kernel(exhibit):
    assert spoke(exhibit, exhibit, exhibit.detectors[0]) >= 0
    sound = replace(SOUND["in_order"], exact=exhibit.exact)
    assert spoke(sound, exhibit, exhibit.detectors[0], most=2) == -1


@pytest.mark.parametrize("exhibit", LAWS_ALONE, ids=lambda exhibit: exhibit.name)
def test_no_law_notices_it_that_is_not_on_the_label(exhibit):
    for name in LAWS:
        if f"law {name}" not in exhibit.detectors:
            assert spoke(exhibit, exhibit, name, most=2) == -1, name


def test_an_order_shows_only_where_sums_feel_it(monkeypatch):
    orders = [exhibit for exhibit in LAWS_ALONE if exhibit.name.startswith("order_")]
    assert len(orders) >= 12
    monkeypatch.setattr(evidence, "sensitive_to_order", lambda case, seed: None)
    for exhibit in orders:
        assert spoke(exhibit, replace(exhibit, families=("producer",)), exhibit.detectors[0], most=2) == -1
