"""The kill matrix and its score, on a few pieces."""

import re
from dataclasses import replace

import pytest

from verify.campaign.tests.plans import plan
from verify.laws import LAWS
from verify.museum import __main__ as command
from verify.museum.exhibit import DETECTORS
from verify.museum.matrix import Kills, kill_matrix, missing
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.score import irreplaceable, lost_without, score, to_markdown

PIECES = {
    **{
        name: EXHIBITS[name]
        for name in ("no_guard", "last_column_skipped", "order_by_tail", "exits_without_keys")
    },
    "in_order": SOUND["in_order"],
}
MATRIX = {
    "no_guard": Kills(first={"oracle": "0/1", "law empties": "0/2"}, cases=3),
    "last_column_skipped": Kills(first={"marker": "0/0"}, cases=3),
    "order_by_tail": Kills(cases=3),
    "exits_without_keys": Kills(first={"oracle": "0/1"}, cases=3),
    "in_order": Kills(first={"law hull": "0/2"}, cases=3),
}
PERFECT = {name: Kills(first={piece.detectors[0]: "0/1"}, cases=3) for name, piece in EXHIBITS.items()}


def test_a_fault_is_killed_by_a_detector_of_its_label_alone():
    found = score(PIECES, MATRIX)
    assert found.killed == ("no_guard", "last_column_skipped")
    assert found.alive == ("order_by_tail", "exits_without_keys")  # the oracle is not on the last one's label
    assert (found.false_alarms, found.accepted, found.passes()) == (("in_order",), (), False)
    assert score(PIECES, {name: MATRIX[name] for name in found.killed}).passes()


def test_a_share_of_the_faults_may_be_enough_and_no_share_excuses_a_false_alarm():
    sound = {name: MATRIX[name] for name in MATRIX if name != "in_order"}
    assert [score(PIECES, sound).passes(share) for share in (0.5, 0.51, 1.0)] == [True, False, False]
    assert not score(PIECES, MATRIX).passes(0.5)


def test_without_a_detector_the_score_is_lower():
    assert score(PIECES, MATRIX, without=("marker",)).killed == ("no_guard",)
    lost = lost_without(PIECES, MATRIX)
    assert set(lost) == set(DETECTORS)
    assert {detector for detector, faults in lost.items() if faults} == {"oracle", "marker"}
    alone = irreplaceable(PIECES, MATRIX)
    assert set(alone) == set(DETECTORS)
    assert {detector for detector, faults in alone.items() if faults} == {"marker"} | (
        set() if "law empties" in EXHIBITS["no_guard"].detectors else {"oracle"}
    )


@pytest.mark.parametrize("detector", DETECTORS)
def test_every_detector_is_what_some_fault_is_there_for(detector):
    assert lost_without(EXHIBITS, PERFECT)[detector] > 0


def test_the_page_names_every_piece_and_what_was_not_run():
    page = to_markdown(PIECES, MATRIX, {"offsets_32_bit": "a GPU"})
    assert all(name in page for name in (*PIECES, "offsets_32_bit", *DETECTORS))


@pytest.mark.parametrize("bounds", ["default", "fp32"])
def test_pieces_are_shown_the_cases_of_a_run(bounds):
    pieces = {name: EXHIBITS[name] for name in ("no_guard", "exits_without_keys")}
    sound = next(piece for piece in SOUND.values() if piece.bounds == bounds and piece.outputs is None)
    chosen = replace(
        plan(
            families=("empties", "seq_lens"),
            dtypes=("float32",),
            laws=tuple(LAWS),
            max_cases=8,
            timeout_s=60.0,
        ),
        devices=("cpu",),
    )
    found = kill_matrix({**pieces, sound.name: sound}, chosen)
    assert "oracle" in found["no_guard"].first
    assert list(found["exits_without_keys"].first) == ["isolation"]
    assert (found[sound.name].first, found[sound.name].cases) == ({}, 8)


def test_what_a_machine_lacks_is_said():
    gpu = EXHIBITS["offsets_32_bit"]
    assert missing(gpu, "cpu", triton=True) == "a GPU"
    assert missing(gpu, "cuda", triton=True) == ""


def test_the_command_fails_where_a_fault_is_not_noticed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "kill_matrix", lambda pieces, plan: MATRIX)
    assert command.main(["-q", "--out", str(tmp_path)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.match(
        r"FAIL museum faults 2 of 4 noticed, sound kernels 0 of 1 accepted, not run \d+, bounds default",
        last,
    )
    monkeypatch.setattr(command, "kill_matrix", lambda pieces, plan: PERFECT)
    assert command.main(["-q", "--out", str(tmp_path)]) == 0


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_command_fails_without_any_one_detector(detector, monkeypatch, tmp_path, capsys):
    """A detector that has gone silent cannot hide behind the others: some fault is there for it alone."""
    silent = {
        name: Kills(first={d: case for d, case in kills.first.items() if d != detector}, cases=3)
        for name, kills in PERFECT.items()
    }
    monkeypatch.setattr(command, "kill_matrix", lambda pieces, plan: silent)
    assert command.main(["-q", "--out", str(tmp_path)]) == 1
    assert f"UNTESTED {detector}:" in capsys.readouterr().out
