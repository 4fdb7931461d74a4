"""A fault is named by what it is consistent with, or not at all."""

import math
from dataclasses import replace

import pytest
import torch

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS
from verify.bounds import load_bounds
from verify.campaign.jobs import Job
from verify.campaign.trial import Bench, solve
from verify.diagnosis import HYPOTHESES, diagnose
from verify.diagnosis import of_partition as partition
from verify.diagnosis import of_precision as precision
from verify.diagnosis import of_rows as rows
from verify.diagnosis import of_scale as scale
from verify.diagnosis.merge import Setting
from verify.judge import judge
from verify.museum.exhibit import Wing
from verify.museum.honest import Merge
from verify.museum.registry import EXHIBITS
from verify.subjects.call import call_subject
from verify.subjects.convention import SEGMENTS
from verify.subjects.load import Subject
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import recast
from verify.subjects.tests.peer_kernels import Natural, Octaves, kernels

LENGTHS = [132, 61, 40, 0, -3, 17, 34, 9, 18, 1]


def wide_case(dtype="float32", size=1.0, *, odd=False):
    """Return ten tokens of three heads, eight segments of different mass; `odd` makes some special."""
    numbers = torch.Generator().manual_seed(5)
    shape = (len(LENGTHS), 3, 8)
    m, s = 2 * torch.randn(shape, generator=numbers), 1 + 8 * torch.rand(shape, generator=numbers)
    o = size * s[..., None] * torch.randn(*shape, 6, generator=numbers)
    m[2, :, :] = -math.inf
    s[7, 0, 0] = 0.0
    if odd:
        o[0, 1, 2, 3], o[1, 0, 0, 0], o[5, 2, 0, 1] = math.nan, math.nan, math.nan
    return MergeCase(
        segm_output=o,
        segm_max=m,
        segm_expsum=s,
        seq_lens=torch.tensor(LENGTHS, dtype=torch.int32),
        tile_size=4,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


WIDE = {
    "plain": wide_case(),
    "half": wide_case("bfloat16"),
    "large": wide_case("float8_e4m3fn", 300.0),
    "largest": wide_case("float16", 40000.0),
    "odd": wide_case("float8_e4m3fn", 1.0, odd=True),
    "tiny": wide_case("float16", 2.0**-15),
    "subnormal": wide_case("float32", 2.0**-127),
}


def said(merge, case, name="segments"):
    """Return the diagnoses of the output and the lse, None where a result has no fault."""
    convention = CONVENTIONS[name]
    case = recast(case, convention)
    subject = Subject(name="", import_path="", source_sha256="", merge=merge, convention=convention)
    returned = call_subject(subject, case).returned
    assert returned is not None
    exact = solve(case, 1, convention)
    judged = judge(case, returned, exact, load_bounds().of(convention.base, convention.lse_base))
    failed = {"output": judged.output.failed, "lse": judged.lse.failed}
    found = diagnose(case, returned, exact, failed, convention)
    return found.get("output"), found.get("lse")


class Changed(Merge):
    """A merge with one step changed: `name` by a function of what it returned and of what it was given."""

    def __init__(self, name, change):
        step = getattr(super(), name)
        setattr(self, name, lambda *args: change(step(*args), *args))


def finally_(change):
    """Return a merge whose results are changed in the end."""
    merge = Merge()
    return lambda *args: change(*merge(*args))


def bfloat16(x):
    return x.float().bfloat16().to(x.dtype)


NAMED = [
    # Base and scale.
    (Natural(), "plain", scale.two_as_natural, "both"),
    (EXHIBITS["natural_weights"].merge, "plain", scale.natural_weights, "both"),
    (EXHIBITS["lse_in_base_two"].merge, "plain", scale.lse_in_two, "lse"),
    (EXHIBITS["only_log_converted"].merge, "plain", scale.only_logarithm, "lse"),
    (EXHIBITS["only_max_converted"].merge, "plain", scale.only_maximum, "lse"),
    (EXHIBITS["maximum_left_out"].merge, "plain", scale.no_maximum, "lse"),
    (Changed("logarithm", lambda r, top, den: top * math.log(2)), "plain", scale.no_logarithm, "lse"),
    (EXHIBITS["mass_left_out"].merge, "plain", scale.mass_ignored, "both"),
    (
        Changed("rows", lambda r, o, m, s, a: (Merge().rows(o, m, torch.ones_like(s), a)[0], r[1])),
        "plain",
        None,  # a phantom is live where its mass is not looked at: nothing explains that
        "output",
    ),
    (Changed("quotient", lambda r, num, den: num), "plain", scale.not_divided, "output"),
    # Partition.
    (EXHIBITS["length_ignored"].merge, "plain", partition.length_ignored, "both"),
    (
        Changed("active", lambda r, lengths, s, t: Merge().active(lengths, s, 8)),
        "plain",
        partition.another_tile,
        "both",
    ),
    (EXHIBITS["one_segment_too_few"].merge, "plain", partition.one_fewer, "both"),
    (EXHIBITS["one_segment_too_many"].merge, "plain", partition.one_more, "both"),
    (EXHIBITS["stale_length"].merge, "plain", partition.stale_length, "both"),
    (EXHIBITS["last_tile_rounded_down"].merge, "plain", partition.whole_tiles, "both"),
    (EXHIBITS["tile_grouping_ignored"].merge, "plain", partition.no_grouping, "both"),
    (EXHIBITS["length_of_the_batch"].merge, "plain", partition.longest, "both"),
    (EXHIBITS["length_of_the_sequence"].merge, "plain", partition.neighbour, "both"),
    (EXHIBITS["no_length_as_one"].merge, "plain", partition.at_least_one, "both"),
    (EXHIBITS["negative_length_as_huge"].merge, "plain", partition.unsigned, "both"),
    (Changed("active", lambda r, lengths, s, t: r.clamp(max=4)), "plain", partition.power_of_two, "both"),
    # Precision and store.
    (EXHIBITS["bfloat16_statistics"].merge, "plain", precision.bfloat16_statistics, "both"),
    (EXHIBITS["bfloat16_weights"].merge, "plain", precision.bfloat16_weights, "both"),
    (EXHIBITS["float16_weights"].merge, "plain", precision.float16_weights, "both"),
    (
        Changed("kept", lambda r, written, live, o: bfloat16(r)),
        "plain",
        precision.bfloat16_partials,
        "output",
    ),
    (EXHIBITS["lse_in_bfloat16"].merge, "plain", precision.bfloat16_lse, "lse"),
    (EXHIBITS["truncating_store"].merge, "half", precision.truncated, "output"),
    (EXHIBITS["truncating_store"].merge, "large", precision.truncated, "output"),
    (EXHIBITS["subnormals_flushed"].merge, "tiny", precision.flushed, "output"),
    (EXHIBITS["float16_saturates"].merge, "largest", precision.saturated, "output"),
    (EXHIBITS["float8_cast_without_clamp"].merge, "large", precision.unsaturated, "output"),
    (EXHIBITS["float8_clamp_eats_nan"].merge, "odd", precision.nan_clamped, "output"),
    (EXHIBITS["hidden_nan"].merge, "odd", precision.nan_clamped, "output"),
    (EXHIBITS["subnormal_values_flushed"].merge, "subnormal", precision.flushed_partials, "output"),
    # Rows.
    (EXHIBITS["head_major_lse"].merge, "plain", rows.lse_turned, "lse"),
    (
        finally_(lambda y, lse: (y.transpose(0, 1).reshape(y.shape), lse)),
        "plain",
        rows.output_turned,
        "output",
    ),
    (EXHIBITS["heads_swapped"].merge, "plain", rows.another_head, "output"),
    (EXHIBITS["shuffled"].merge, "plain", rows.another_column, "output"),
    (
        finally_(lambda y, lse: (torch.where((lse == -math.inf)[..., None], math.nan, y), lse)),
        "plain",
        rows.massless_nan,
        "output",
    ),
    (EXHIBITS["massless_lse_plus_infinity"].merge, "plain", rows.massless_infinite, "lse"),
    (EXHIBITS["massless_lse_zero"].merge, "plain", rows.massless_zero, "lse"),
    (
        finally_(lambda y, lse: (y, torch.where(lse == -math.inf, math.nan, lse))),
        "plain",
        rows.massless_lse_nan,
        "lse",
    ),
]


@pytest.mark.parametrize(("merge", "case", "hypothesis", "result"), NAMED)
def test_what_is_wrong_is_named_and_nothing_else(merge, case, hypothesis, result):
    sentence = "" if hypothesis is None else f"consistent with {hypothesis.says}"
    wanted = {"both": (sentence, sentence), "output": (sentence, None), "lse": (None, sentence)}[result]
    assert said(merge, WIDE[case]) == wanted


WRONG_BASE = [
    ("segments", Natural(), scale.two_as_natural, "both"),
    ("aiter_mla_reduce", Natural(), scale.two_as_natural, "output"),
    ("vllm_unified_reduce", Merge(), scale.natural_as_two, "output"),
    ("vllm_merge_attn_states", Octaves(), scale.natural_as_two, "both"),
    ("sglang_merge_state", Octaves(), scale.natural_as_two, "both"),
    ("flashinfer_merge_states", Natural(), scale.two_as_natural, "both"),
    ("flashinfer_merge_state", Merge(), scale.lse_in_nats, "lse"),
    ("flash_attention_combine", Octaves(), scale.natural_as_two, "both"),
    ("flash_mla_combine", Octaves(), scale.lse_in_two, "lse"),
    ("dcp_correction_e", Octaves(), scale.natural_as_two, "both"),
    ("dcp_correction_2", Natural(), scale.two_as_natural, "both"),
]


@pytest.mark.parametrize(("name", "merge", "hypothesis", "result"), WRONG_BASE)
def test_a_kernel_of_another_base_is_named(name, merge, hypothesis, result):
    wrong = said(kernels(merge, merge, merge)[name], WIDE["plain"], name)
    sentence = f"consistent with {hypothesis.says}"
    assert (
        wrong == {"both": (sentence, sentence), "output": (sentence, None), "lse": (None, sentence)}[result]
    )


def test_every_hypothesis_is_named_by_a_test():
    tested = {id(entry[2]) for entry in (*NAMED, *WRONG_BASE)} | {id(scale.mass_twice), id(precision.twice)}
    assert {id(hypothesis) for hypothesis in HYPOTHESES} <= tested
    assert len({hypothesis.says for hypothesis in HYPOTHESES}) == len(HYPOTHESES)


def test_partials_weighed_twice_by_their_mass_are_named():
    class Twice(Merge):
        def sums(self, weight, o, s):
            return super().sums(weight, o * s[..., None], s)

    assert said(Twice(), WIDE["plain"]) == (f"consistent with {scale.mass_twice.says}", None)


def test_a_double_rounding_is_named():
    case = wide_case("float8_e4m3fn")
    # Beside the middles of 1, 9/8 and 10/8, so near that float16 takes them for these.
    means = torch.tensor([17 / 16 + 3 * 2.0**-13, 19 / 16 - 3 * 2.0**-13, 1.0, 2.0, -3.0, 17 / 16])
    o = means * case.segm_expsum[..., None]
    merge = EXHIBITS["rounded_twice"].merge
    assert said(merge, replace(case, segm_output=o)) == (f"consistent with {precision.twice.says}", None)


NOT_TO_BE_NAMED = [
    name
    for name, exhibit in EXHIBITS.items()
    if exhibit.wing in (Wing.SCALE, Wing.PRECISION, Wing.ROUNDING, Wing.RANGE, Wing.EMPTIES, Wing.NAN_POLICY)
    and not exhibit.needs
    and exhibit.merge not in [entry[0] for entry in NAMED]
]


@pytest.mark.parametrize("name", NOT_TO_BE_NAMED)
def test_no_hypothesis_is_made_responsible_for_what_it_is_not(name):
    allowed = {
        None,
        "",
        *(f"consistent with {sentence}" for sentence in ALLOWED.get(name, ())),
    }
    for case in ("plain", "half", "odd", "largest"):
        assert set(said(EXHIBITS[name].merge, WIDE[case])) <= allowed, case


ALLOWED = {
    "no_guard": (rows.massless_nan.says, rows.massless_lse_nan.says),
}


def test_an_honest_float32_merge_that_fails_by_its_precision_is_not_named():
    class Float32(Merge):
        def weight(self, gap):
            return super().weight(gap).float().double()

        def sums(self, weight, o, s):
            num, den = super().sums(weight, o, s)
            return num.float().double(), den.float().double()

    assert said(Float32(), WIDE["plain"]) in {("", ""), ("", None)}


def test_little_evidence_names_nothing():
    case = WIDE["half"]
    little = replace(
        case,
        segm_output=case.segm_output[:1, :1, :, :1],
        segm_max=case.segm_max[:1, :1],
        segm_expsum=case.segm_expsum[:1, :1],
        seq_lens=case.seq_lens[:1],
    )
    assert said(EXHIBITS["natural_weights"].merge, little)[0] in (None, "")


def test_what_was_never_written_is_not_diagnosed():
    assert said(EXHIBITS["last_column_skipped"].merge, WIDE["plain"])[0] == ""


def test_a_job_that_asks_gets_the_diagnosis_with_its_faults():
    subject = Subject(name="", import_path="", source_sha256="", merge=Natural(), convention=SEGMENTS)
    for asks in (True, False):
        outcome = Bench(subject, load_bounds()).run(
            Job(name="x", input=WIDE["plain"], diagnose=asks), WIDE["plain"]
        )
        sentence = f"consistent with {scale.two_as_natural.says}" if asks else ""
        assert {fault.diagnosis for fault in outcome.faults} == {sentence}
        assert len(outcome.faults) == 2


@pytest.mark.parametrize("dtype", FORMATS)
def test_the_merge_that_hypotheses_start_from_is_the_right_one(dtype):
    for convention in (
        SEGMENTS,
        CONVENTIONS["flash_attention_combine"],
        CONVENTIONS["flashinfer_merge_states"],
    ):
        case = recast(wide_case(dtype, odd=True), convention)
        exact = solve(case, 1, convention)
        right = Setting(case=case, convention=convention, exact=exact).predict()
        assert right.output is not None
        assert right.lse is not None
        number = exact.lse.rounded.isfinite()
        assert torch.allclose(
            right.lse[number].float(), exact.lse.rounded[number].float(), rtol=1e-6, atol=1e-9
        )
        assert torch.equal(right.lse[~number].nan_to_num(7.0), exact.lse.rounded[~number].nan_to_num(7.0))
        limit = FORMATS[dtype].max_value
        near = 2.0 ** -(FORMATS[dtype].precision - 1)
        got, want = right.output.clamp(-limit, limit), exact.output.rounded
        assert torch.allclose(got, want, rtol=near, atol=2.0 ** FORMATS[dtype].emin * near, equal_nan=True)
