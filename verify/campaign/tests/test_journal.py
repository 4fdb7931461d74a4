"""The journal: nothing that was judged is lost, whatever ended the run; nothing is read that is not whole."""

import contextlib
import json
import math
import os

import pytest

from fuzz.draw import draw_recipe
from fuzz.recipe import Recipe
from reports.strata import EDGES, Stratum, StratumKey
from verify.campaign.jobs import Job, Stream
from verify.campaign.journal import Journal, JournalError, find_recipe
from verify.campaign.outcome import Outcome, Reached
from verify.campaign.plain import outcome_of, record_of
from verify.observed import Fault, FaultKind

HEADER = {"seed": 7, "families": ["ties"], "arguments": ["--seed=7"]}
FAULT = Fault(
    kind=FaultKind.SPURIOUS_INF,
    detector="oracle",
    message="output is inf\nwhere “1” is right",
    result="output",
    where=(1, 2, 3),
    got=math.inf,
    exact=0.1,
    ulp=-(2.0**-30),
    steps=12,
    bound=0.501,
    code=0x7F800000,
)
STRATUM = Stratum(
    key=StratumKey("ties", "stress", "float16", "output"),
    cases=1,
    outputs=3,
    numbers=3,
    max_ulp=0.1 + 0.2,
    margin=1 / 3,
    witness="7/0 at [0, 0, 0]",
    counts=(0, 3, *(0,) * (len(EDGES) - 3)),
)
FULL = Outcome(
    case="7/0",
    family="ties",
    dtype="float16",
    outputs=3,
    faults=(FAULT,),
    strata=(STRATUM,),
    tiers={"exact": 3},
    bits=128,
    out_of_domain={"overflow": 2},
    laws={"tail": 4},
    cells=(
        Reached(cell="float16-g1", margin=0.25, misrounded=True, parent=draw_recipe(7, 3)),
        Reached(cell="float16-g2", margin=0.125, misrounded=False, parent=None),
    ),
    compile_s=0.5,
    keeps_fp32=False,
)


def job(name="7/0", stream=Stream.DRAWN):
    return Job(name=name, input=draw_recipe(7, 0), stream=stream)


def begun(folder, *outcomes):
    with Journal(folder / "journal.jsonl", HEADER, resume=False) as journal:
        for outcome in outcomes:
            journal.add(outcome, job(outcome.case))
    return folder / "journal.jsonl"


def gone_on_with(file, header=HEADER):
    with Journal(file, header, resume=True) as journal:
        return journal.outcomes


@pytest.mark.parametrize(
    "outcome", [FULL, Outcome(case="7/1", family="ties", dtype="float16", unsupported="S")]
)
def test_an_outcome_survives_being_written_down(outcome):
    text = json.dumps(record_of(outcome), allow_nan=False)
    assert outcome_of(json.loads(text)) == outcome


def test_what_was_judged_is_there_again_and_more_can_follow(tmp_path):
    file = begun(tmp_path, FULL)
    with Journal(file, HEADER, resume=True) as journal:
        assert journal.outcomes == {"7/0": FULL}
        journal.add(Outcome(case="7/1", family="ties", dtype="float16"), job("7/1"))
    assert list(gone_on_with(file)) == ["7/0", "7/1"]


def test_whatever_is_cut_off_the_end_costs_the_last_case_alone(tmp_path):
    second = Outcome(case="7/1", family="ties", dtype="float16")
    whole = begun(tmp_path, FULL, second).read_bytes()
    first_two = whole.rindex(b"\n", 0, -1) + 1
    for length in range(first_two, len(whole)):
        file = tmp_path / "journal.jsonl"
        file.write_bytes(whole[:length])
        with Journal(file, HEADER, resume=True) as journal:
            assert list(journal.outcomes) == ["7/0"]
            journal.add(second, job("7/1"))
        assert file.read_bytes() == whole


def test_a_run_goes_on_only_with_what_it_began_with(tmp_path):
    file = begun(tmp_path, FULL)
    with pytest.raises(JournalError, match="seed was 7 and now is 8"):
        gone_on_with(file, {**HEADER, "seed": 8})
    with pytest.raises(JournalError, match="there is no run to go on with"):
        gone_on_with(tmp_path / "nosuch.jsonl")


@pytest.mark.parametrize(
    "line", [b"{}", b"[]", b'{"case": 1, "nosuch": 2}', b"\xff", b'{"case": "x", "strata": [{}]}']
)
def test_a_damaged_line_inside_is_an_error_that_names_it(tmp_path, line):
    file = begun(tmp_path, FULL)
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(JournalError, match="line 3"):
        gone_on_with(file)


def test_an_earlier_journal_is_kept_when_a_run_begins_anew(tmp_path):
    before = begun(tmp_path, FULL).read_bytes()
    begun(tmp_path)
    assert (tmp_path / "journal.previous.jsonl").read_bytes() == before
    assert gone_on_with(tmp_path / "journal.jsonl") == {}


def test_a_full_disk_is_one_line_that_says_what_to_do(tmp_path):
    file = begun(tmp_path, FULL)
    full = os.open("/dev/full", os.O_WRONLY)
    with Journal(file, HEADER, resume=True) as journal:
        os.dup2(full, journal._handle.fileno())
        with pytest.raises(JournalError, match="No space left on device; what was judged until now") as error:
            journal.add(FULL, job())
        with contextlib.suppress(OSError):
            journal._handle.close()  # tries once more
    os.close(full)
    assert "\n" not in str(error.value)
    assert f"--resume {tmp_path}" in str(error.value)


def test_a_case_of_the_hunt_is_found_again_by_its_name(tmp_path):
    with Journal(tmp_path / "journal.jsonl", HEADER, resume=False) as journal:
        for name, stream in (("7/0", Stream.DRAWN), ("hunt/7/0/1/4", Stream.HUNT)):
            journal.add(Outcome(case=name, family="hunt", dtype="float16"), job(name, stream))
    found = find_recipe(tmp_path / "journal.jsonl", "hunt/7/0/1/4")
    assert isinstance(found, Recipe)
    assert found == draw_recipe(7, 0)
    assert find_recipe(tmp_path / "journal.jsonl", "hunt/7/0/1/5") is None
    assert find_recipe(tmp_path / "journal.jsonl", "7/0") is None


def test_two_runs_do_not_write_in_one_folder(tmp_path):
    file = begun(tmp_path, FULL)
    with Journal(file, HEADER, resume=True), pytest.raises(JournalError, match="another run writes there"):
        Journal(file, HEADER, resume=False)
    assert list(gone_on_with(file)) == ["7/0"]
