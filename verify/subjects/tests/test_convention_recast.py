"""What a case becomes when a convention has to say it, and in what form a kernel gets it."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import torch

from fuzz.families import DRAWN
from verify.museum.honest import Merge
from verify.oracle import Base
from verify.subjects.adapter import inputs_of
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import _logarithm, recast
from verify.subjects.tests.test_convention import CASES, RICH, case_of

INF, NAN = math.inf, math.nan


def bits(case):
    tensors = (case.segm_output, case.segm_max, case.segm_expsum)
    return [torch.where(t.isnan(), NAN, t).contiguous().view(torch.int32) for t in tensors] + [case.active]


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("family", DRAWN)
def test_a_recast_case_says_what_the_kernel_gets_and_stays(name, family):
    convention = CONVENTIONS[name]
    once = recast(CASES[family], convention)
    twice = recast(once, convention)
    assert all(torch.equal(a, b) for a, b in zip(bits(once), bits(twice), strict=True))
    given = inputs_of(once, convention)
    if "o" in convention.parameters.values() and convention.normalised:
        o = next(given[key] for key, of in convention.parameters.items() if of == "o").float()
        letters = [convention.partials.replace("1", "").index(axis) for axis in "thsr"]
        o = o.reshape([size for size, axis in zip(o.shape, convention.partials, strict=True) if axis != "1"])
        assert torch.equal(o.permute(letters).nan_to_num(7.0), once.segm_output.nan_to_num(7.0))
    if name == "segments":
        assert once is CASES[family]


@pytest.mark.parametrize("name", ["flash_mla_combine", "flashinfer_merge_states", "aiter_mla_reduce"])
def test_the_mathematics_stays_within_the_rounding_of_what_is_said(name):
    case = RICH
    said = recast(case, CONVENTIONS[name])
    merge = Merge()
    before, after = (
        merge(c.segm_output, c.segm_max, c.segm_expsum, c.seq_lens, c.tile_size, torch.float32)
        for c in (case, said)
    )
    scale = before[0].abs().amax()
    assert float((before[0] - after[0]).abs().amax()) <= 1e-5 * float(scale)
    assert torch.allclose(before[1], after[1], rtol=1e-5, atol=1e-5)


def test_a_normalised_segment_is_its_mean_and_the_logarithm_of_its_mass():
    case = case_of([3.0, -2.0], [8.0, 0.5], [[24.0], [1.0]])
    said = recast(case, CONVENTIONS["flashinfer_merge_states"])
    assert said.segm_max.tolist() == [[[6.0, -3.0]]]
    assert said.segm_expsum.tolist() == [[[1.0, 1.0]]]
    assert said.segm_output.tolist() == [[[[3.0], [2.0]]]]
    natural = recast(case, CONVENTIONS["flash_attention_combine"])
    wanted = torch.tensor([3 + math.log(8.0), -2 + math.log(0.5)])
    assert torch.equal(natural.segm_max[0, 0], wanted)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("flashinfer_merge_states", [-INF, -INF, -INF, -INF, INF, NAN]),
        ("sglang_merge_state", [-INF, INF, -INF, -INF, INF, NAN]),
        ("dcp_correction_e", [-INF, INF, NAN, -INF, INF, NAN]),
    ],
)
def test_each_kind_of_empty_segment_has_its_marker(name, told):
    # No tile visited, phantom, NaN triple, never written; then what was live: +inf and NaN.
    case = case_of([-INF, 0.0, -INF, -INF, INF, NAN], [1.0, 0.0, NAN, 1.0, 1.0, 1.0], [[1.0]] * 6)
    convention = CONVENTIONS[name]
    said = recast(case, convention)
    given = inputs_of(said, convention)
    of = {of: given[key] for key, of in convention.parameters.items() if key in given}
    lse = torch.stack((of["l_a"], of["l_b"]), -1) if convention.pair else of["l"]
    assert list(map(repr, lse.flatten().tolist())) == list(map(repr, told))
    empty = [repr(x) in map(repr, convention.empty) for x in told]
    nothing_live = Merge().live(torch.tensor(True), said.segm_max, said.segm_expsum).flatten()
    assert (~nothing_live).tolist() == empty


def test_segments_that_were_never_written_become_empty_where_there_are_no_lengths():
    case = replace(case_of([1.0, 2.0, NAN], [1.0, 1.0, -3.0], [[1.0], [2.0], [INF]]), tile_size=1)
    case = replace(case, seq_lens=torch.tensor([2], dtype=torch.int32))
    said = recast(case, CONVENTIONS["flash_mla_combine"])
    assert said.active.tolist() == [3]
    assert said.segm_max.tolist() == [[[1.0, 2.0, -INF]]]


def test_a_merge_of_two_takes_the_segments_two_by_two():
    case = case_of([0.0, 1.0, 2.0], [1.0] * 3, [[1.0], [2.0], [3.0]])
    said = recast(case, CONVENTIONS["sglang_merge_state"])
    assert (said.T, said.H, said.S, said.R) == (2, 1, 2, 1)
    assert said.segm_max.flatten().tolist() == [0.0, 1.0, 2.0, -INF]
    assert said.segm_output.flatten()[:3].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"])
def test_partials_in_the_dtype_of_the_output_are_finite_where_they_were(dtype):
    values = [[-0.0, 3.0e38, 1.0009765625, -1.0e-40, INF, NAN, 1 / 3]]
    said = recast(case_of([0.0], [2.0**-20], values, dtype), CONVENTIONS["flashinfer_merge_states"])
    o = said.segm_output.flatten()
    limit = torch.finfo(getattr(torch, dtype)).max
    assert o.isfinite().tolist()[:4] == [True] * 4
    assert float(o[1]) == limit
    assert float(o[4]) == (INF if "float8" not in dtype else limit)
    assert bool(o[5].isnan())
    assert math.copysign(1.0, float(o[0])) == (1.0 if dtype.endswith("fnuz") else -1.0)
    given = inputs_of(said, CONVENTIONS["flashinfer_merge_states"])["v"]
    assert given.dtype == getattr(torch, dtype)
    assert torch.equal(given.float().flatten().nan_to_num(9.0), o.nan_to_num(9.0))


def test_axes_and_memory_are_those_that_the_convention_says():
    case = RICH
    t, h, s, r = case.T, case.H, case.S, case.R
    shapes = {
        "flashinfer_merge_states": {"v": (t, s, h, r), "s": (t, s, h)},
        "flash_attention_combine": {"out_partial": (s, 1, t, h, r), "lse_partial": (s, 1, t, h)},
        "flash_mla_combine": {"o_accum": (s, t, h, r), "lse_accum": (s, t, h)},
        "dcp_correction_e": {"outputs": (s, t, h, r), "lses": (s, t, h)},
        "aiter_mla_reduce": {"segm_output": (t, h, s, r), "segm_max": (t, h, s)},
    }
    for name, wanted in shapes.items():
        given = inputs_of(recast(case, CONVENTIONS[name]), CONVENTIONS[name])
        assert {key: tuple(given[key].shape) for key in wanted} == wanted
        assert list(given) == list(CONVENTIONS[name].parameters)
        contiguous = {key for key in wanted if given[key].is_contiguous()}
        assert contiguous == set(wanted) - {"lse_partial"}
        if name == "flash_attention_combine":
            assert given["lse_partial"].stride(-2) == 1
    pair = inputs_of(
        recast(case, CONVENTIONS["vllm_merge_attn_states"]), CONVENTIONS["vllm_merge_attn_states"]
    )
    tokens = t * -(-s // 2)
    assert pair["prefix_lse"].shape == (h, tokens)
    assert pair["suffix_output"].shape == (tokens, h, r)
    assert all(value.is_contiguous() for value in pair.values())


def test_strides_of_a_case_reach_the_kernel():
    case = RICH
    strided = replace(case, segm_output=case.segm_output.transpose(2, 3).contiguous().transpose(2, 3))
    strided = recast(recast(strided, CONVENTIONS["dcp_correction_e"]), CONVENTIONS["dcp_correction_e"])
    strided = replace(strided, out_dtype="float32")
    assert not inputs_of(strided, CONVENTIONS["dcp_correction_e"])["outputs"].is_contiguous()


def test_adjacent_tokens_of_one_length_are_a_sequence():
    rows = [0, 1, 2, 0, 1, 2, 0]
    case = replace(
        RICH,
        segm_output=RICH.segm_output[rows],
        segm_max=RICH.segm_max[rows],
        segm_expsum=RICH.segm_expsum[rows],
        seq_lens=torch.tensor([5, 5, 0, 7, 7, 7, 5], dtype=torch.int64),
    )
    given = inputs_of(case, CONVENTIONS["vllm_unified_reduce"])
    assert given["seq_lens"].tolist() == [5, 0, 7, 5]
    assert given["seq_lens"].dtype == torch.int64
    assert given["query_start_loc"].tolist() == [0, 2, 3, 6, 7]
    assert given["query_start_loc"].dtype == torch.int32


@pytest.mark.parametrize("base", Base)
def test_the_logarithm_is_right_and_rounds_to_the_right_float32(base):
    s = torch.cat(
        (torch.logspace(-44, 38, 500), torch.tensor([2.0**-149, 1.0, 1.0 + 2.0**-23, 1.0 - 2.0**-24]))
    )
    got = _logarithm(s, base)
    log = mpmath.log if base is Base.E else lambda x: mpmath.log(x, 2)
    with mpmath.workprec(200):
        for value, one in zip(s.tolist(), got.tolist(), strict=True):
            exact = log(mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator)
            assert abs(one - exact) <= 2.0**-51 * abs(exact)
    assert float(_logarithm(torch.tensor(1.0), base)) == 0.0
    odd = _logarithm(torch.tensor([INF, -1.0, NAN]), base)
    assert [repr(x) for x in odd.tolist()] == ["inf", "nan", "nan"]
