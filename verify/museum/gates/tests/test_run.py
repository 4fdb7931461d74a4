"""Pieces that end their process or hang are noticed for that, and the others are shown all the same."""

import pytest

from verify.campaign.pool import InternalError
from verify.museum.gates.run import _Booth, complaints_of
from verify.museum.registry import EXHIBITS, SOUND


def test_a_lost_process_is_a_complaint_and_another_one_goes_on():
    names = ("in_order", "exits_without_keys", "reads_address_zero", "no_guard")
    pieces = {name: {**EXHIBITS, **SOUND}[name] for name in names}
    found = complaints_of(pieces, ("cpu", "cpu"), limit_s=300.0)
    assert list(found) == [*names]
    assert set(found["in_order"].values()) == {""}
    assert found["exits_without_keys"] == {
        "unit": "the process ended (exit code 7)",
        **dict.fromkeys(("reduce", "combine", "cascade"), ""),
    }
    assert found["reads_address_zero"] == {
        **dict.fromkeys(("unit", "reduce", "cascade"), ""),
        "combine": "the process ended (SIGSEGV)",
    }
    assert [gate for gate, said in found["no_guard"].items() if said] == ["unit", "combine"]


def test_a_call_that_does_not_return_is_a_complaint():
    hanging = EXHIBITS["hangs_on_a_ragged_tile"]
    booth = _Booth("cpu", 1.0)
    assert booth.ask(hanging.path, "reduce") == "the call did not return within 1 s"
    booth = _Booth("cpu", 300.0)
    assert booth.ask(hanging.path, "unit") == ""
    booth.close()


def test_a_piece_that_cannot_be_shown_is_no_complaint():
    booth = _Booth("cpu", 3.0)
    with pytest.raises(InternalError, match="was lost before"):
        booth.ask("verify.museum.honest:nothing", "unit")
    booth.close()
