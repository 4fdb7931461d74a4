"""What a finding tells of the row that failed."""

import math

import pytest

from verify.campaign.row import proof_of, segments_of
from verify.observed import Fault, FaultKind
from verify.oracle.target import Base
from verify.subjects.convention import SEGMENTS
from verify.subjects.peers import CONVENTIONS
from verify.tests.acceptance import rows


def fault(result, *where):
    return Fault(kind=FaultKind.WRONG_VALUE, detector="oracle", message="", result=result, where=where)


CASE = rows(m=[[0.0, 2.0, -math.inf]], s=[[1.0, 1.0, 1.0]], o=[[[3.0], [-1.0], [9.0]]])


def test_segments_have_their_weights_and_shares_and_an_empty_one_has_none():
    told = segments_of(CASE, fault("output", 0, 0, 0), Base.TWO)
    assert [(entry["segment"], entry["weight"], entry["share"]) for entry in told] == [
        (0, 0.25, 0.2),
        (1, 1.0, 0.8),
        (2, None, None),
    ]
    assert told[0]["o"] == {"dec": "3.0", "hex": "0x1.8000000000000p+1"}
    assert told[2]["m"] == {"dec": "-inf", "hex": "-inf"}
    natural = segments_of(CASE, fault("lse", 0, 0), Base.E)
    assert natural[0]["weight"] == pytest.approx(math.exp(-2.0))


def test_of_many_segments_those_with_the_largest_shares_are_told():
    many = rows(m=[[float(n % 20) for n in range(40)]], s=[[1.0] * 40], o=[[[0.0]] * 40])
    told = [entry["segment"] for entry in segments_of(many, fault("lse", 0, 0), Base.TWO)]
    assert told == [*range(12, 20), *range(32, 40)]
    unbounded = rows(m=[[0.0] * 39 + [-5.0]], s=[[1.0] * 40], o=[[[0.0]] * 39 + [[math.inf]]])
    told = [entry["segment"] for entry in segments_of(unbounded, fault("output", 0, 0, 0), Base.TWO)]
    assert told == [*range(15), 39]


def test_the_proof_is_of_the_value_at_the_fault():
    output, lse = (proof_of(CASE, at, SEGMENTS) for at in (fault("output", 0, 0, 0), fault("lse", 0, 0)))
    assert "-0.2" in output  # (3 − 4) / 5
    assert "1.60943" in lse  # ln 5
    natural = proof_of(CASE, fault("lse", 0, 0), CONVENTIONS["vllm_merge_attn_states"])
    assert "2.12692" in natural  # ln (1 + e²)
    assert proof_of(CASE, Fault(kind=FaultKind.CRASH, detector="isolation", message=""), SEGMENTS) == ""
