"""The page counts what the gates noticed and what the suite did, of the same faults."""

import pytest

from verify.museum import __main__ as command
from verify.museum.gates.page import summary, to_markdown
from verify.museum.matrix import Kills
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.score import score

PIECES = {
    **{name: EXHIBITS[name] for name in ("no_guard", "biased", "zeroed", "hidden_nan")},
    **{name: SOUND[name] for name in ("in_order", "float32")},
}
QUIET = dict.fromkeys(("unit", "reduce", "combine", "cascade"), "")
COMPLAINTS = {
    "no_guard": {**QUIET, "unit": "nan", "combine": "nan"},
    "biased": {**QUIET, "combine": "too far"},
    "zeroed": {**QUIET, "unit": "zero", "reduce": "zero"},
    "hidden_nan": QUIET,
    "in_order": QUIET,
    "float32": {**QUIET, "cascade": "too far"},
}
MATRIX = {
    **{name: Kills(first={"oracle": "0/0"}, cases=1) for name in ("no_guard", "biased", "hidden_nan")},
    **{name: Kills(cases=1) for name in ("zeroed", "float32")},
    "in_order": Kills(first={"law hull": "0/0"}, cases=1),
}


@pytest.fixture
def rows():
    page = to_markdown(PIECES, COMPLAINTS, score(PIECES, MATRIX))
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if "|" in line]
    return {row[0]: row[1:] for row in cells}


def test_what_each_gate_noticed(rows):
    assert {name: rows[name][2:] for name in (*QUIET, "the four", "this suite")} == {
        "unit": ["2 of 4", "50%", "none"],
        "reduce": ["1 of 4", "25%", "none"],
        "combine": ["2 of 4", "50%", "none"],
        "cascade": ["0 of 4", "0%", "float32"],
        "the four": ["3 of 4", "75%", "float32"],
        "this suite": ["3 of 4", "75%", "in_order"],
    }


def test_class_by_class_and_fault_by_fault(rows):
    assert rows["base and scale"] == ["2", "1", "1", "1", "0", "2", "1"]
    assert rows["all"] == ["4", "2", "1", "2", "0", "3", "3"]
    assert rows["biased"] == ["", "", "yes", "", "yes", "yes", "too far"]
    assert rows["hidden_nan"] == ["", "", "", "", "", "yes", ""]


def test_the_summary_counts_faults_alone():
    wanted = "gates unit 2, reduce 1, combine 2, cascade 0, together 3 of 4 faults"
    assert summary(PIECES, COMPLAINTS) == wanted


def test_the_command_shows_the_gates_what_it_showed_the_suite(monkeypatch, tmp_path, capsys):
    shown = []

    def complaints_of(pieces, devices):
        shown.append(pieces)
        return COMPLAINTS

    monkeypatch.setattr(command, "kill_matrix", lambda pieces, plan: MATRIX)
    monkeypatch.setattr(command, "complaints_of", complaints_of)
    command.main(["-q", "--gates", "--out", str(tmp_path)])
    assert list(shown[0]) == list(MATRIX)
    assert "together 3 of 4 faults" in capsys.readouterr().out
    assert "hidden_nan" in (tmp_path / "gates.md").read_text()
    command.main(["-q", "--out", str(tmp_path)])
    assert len(shown) == 1
