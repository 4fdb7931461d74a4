"""The acceptance cases in both directions: a right merge is accepted, and each faulty one is rejected."""

import pytest
import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, round_to
from verify.bounds import load_bounds
from verify.judge import judge
from verify.museum.honest import reference_merge
from verify.museum.overflow import FlushedWeights
from verify.museum.registry import EXHIBITS
from verify.observed import Fault, FaultKind, Returned
from verify.oracle.evaluate import evaluate
from verify.oracle.values import Exact
from verify.subjects.call import call_subject
from verify.subjects.load import Subject, load_subject
from verify.tests.acceptance import ACCEPTANCE, COMPARISONS, Acceptance, from_token, rows, tolerant

FLOAT32 = FORMATS["float32"]


def marked(acceptance: Acceptance, *values):
    """A test parameter with a readable id, for a GPU if need be."""
    name = " ".join([acceptance.name, *values])
    return pytest.param(acceptance, *values, id=name, marks=[pytest.mark.gpu] if acceptance.gpu else [])


every_case = pytest.mark.parametrize("acceptance", [marked(a) for a in ACCEPTANCE])
every_fault = pytest.mark.parametrize(
    ("acceptance", "fault"), [marked(a, fault) for a in ACCEPTANCE for fault in a.faulty]
)


def exact_of(case: MergeCase) -> Exact:
    case = case.to("cpu")
    return evaluate(
        case.segm_output, case.segm_max, case.segm_expsum, case.active, FORMATS[case.out_dtype], FLOAT32
    )


def verdict(merge, case: MergeCase, first: int = 0) -> list[Fault]:
    """All the faults found in one call."""
    call = call_subject(Subject(name="", import_path="", source_sha256="", merge=merge), case)
    if call.returned is None:
        return list(call.faults)
    returned = Returned(
        output=call.returned.output[first:].cpu(),
        lse=call.returned.lse[first:].cpu(),
        unwritten_output=call.returned.unwritten_output[first:].cpu(),
        unwritten_lse=call.returned.unwritten_lse[first:].cpu(),
    )
    looked_at = from_token(case, first).contiguous().to("cpu")
    return [*call.faults, *judge(looked_at, returned, exact_of(looked_at), load_bounds()).faults]


@every_case
@pytest.mark.parametrize("kernel", ["mla_merge", "verify.museum.honest:reference_merge"])
def test_a_right_merge_is_accepted(acceptance, kernel):
    merge = load_subject(kernel).merge
    assert verdict(merge, acceptance.build(), acceptance.judged_from) == []


@every_fault
def test_the_named_faulty_merge_is_rejected(acceptance, fault):
    assert verdict(EXHIBITS[fault], acceptance.build(), acceptance.judged_from) != []


@pytest.mark.parametrize("acceptance", [marked(a) for a in ACCEPTANCE if a.output is not None])
def test_the_oracle_finds_the_known_answers(acceptance):
    case = acceptance.build()
    exact = exact_of(case)
    fmt = FORMATS[case.out_dtype]
    output = torch.tensor([round_to(float(x), fmt) for x in acceptance.output], dtype=torch.float64)
    lse = torch.tensor([round_to(float(x), FLOAT32) for x in acceptance.lse], dtype=torch.float64)
    torch.testing.assert_close(exact.output.rounded.flatten(), output, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(exact.lse.rounded.flatten(), lse, rtol=0, atol=0)


def test_a5_is_built_from_the_float32_maxima_of_the_published_answer():
    a5 = next(a for a in ACCEPTANCE if a.name.startswith("A5"))
    assert a5.output is not None
    assert abs(a5.output[0] - 0.48750273) < 5e-9


def test_every_case_rejects_exhibits_of_the_museum():
    assert {fault for a in ACCEPTANCE for fault in a.faulty} <= set(EXHIBITS)
    assert all(a.faulty for a in ACCEPTANCE)
    assert {f"A{i}" for i in range(1, 17)} == {a.name.split()[0] for a in ACCEPTANCE}


def test_flushed_weights_are_no_fault_where_the_maximum_is_a_live_one():
    case = next(a for a in ACCEPTANCE if a.name.startswith("A11")).build()
    assert verdict(FlushedWeights(), case) == []


def test_faults_are_named_for_what_they_show():
    expected = {
        "no_guard": {FaultKind.SPURIOUS_NAN},
        "zero_times_nan": {FaultKind.SPURIOUS_NAN},
        "lse_in_base_two": {FaultKind.WRONG_LSE},
        "float8_clamp_eats_nan": {FaultKind.LOST_NAN},
        "last_column_skipped": {FaultKind.UNWRITTEN_OUTPUT},
        "row_step_of_unpadded": {FaultKind.UNWRITTEN_OUTPUT, FaultKind.WRONG_VALUE},
        "lse_skipped_for_one_segment": {FaultKind.UNWRITTEN_OUTPUT},
        "unscaled_float32_sums": {FaultKind.SPURIOUS_INF},
        "sign_flipped": {FaultKind.WRONG_VALUE},
    }
    for fault, kinds in expected.items():
        acceptance = next(a for a in ACCEPTANCE if fault in a.faulty)
        assert {found.kind for found in verdict(EXHIBITS[fault], acceptance.build())} == kinds, fault


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_a12_the_comparison_itself(comparison):
    # One segment of mass 1 hands its values through, so that the exact results are chosen at will.
    case = rows(m=[[0]], s=[[1]], o=[[comparison.exact]])
    got = torch.tensor([[comparison.got]], dtype=torch.float32)
    assert (verdict(lambda *_: (got, torch.zeros(1, 1)), case) == []) == comparison.passes


def test_a12_a_tolerant_comparison_is_fooled_by_nan():
    answers = {c.name: tolerant(torch.tensor(c.got), torch.tensor(c.exact)) for c in COMPARISONS}
    wrong = {c.name for c in COMPARISONS if answers[c.name] != c.passes}
    assert wrong == {"NaN for 1", "1 for NaN"}


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_nan_that_is_right_must_still_be_written(dtype):
    case = rows(m=[[0]], s=[[1]], o=[[[float("nan"), 1.0]]], out_dtype=dtype)

    def leaves_it(*args):
        output, lse = reference_merge(*args)
        left = torch.empty_like(output)
        left[..., 1:] = output[..., 1:]
        return left, lse

    assert verdict(reference_merge, case) == []
    (fault,) = verdict(leaves_it, case)
    assert fault.kind is FaultKind.UNWRITTEN_OUTPUT
    assert fault.where == (0, 0, 0)
