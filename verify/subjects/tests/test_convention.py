"""Every convention: right kernels are accepted, wrong ones are not, and nothing else is lost on the way."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from fuzz.case import Domain, MergeCase
from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.recipe import expand
from verify.bounds import load_bounds
from verify.campaign.jobs import Job, Stream
from verify.campaign.station import Station, StationSettings, described
from verify.campaign.trial import Bench
from verify.museum.honest import Merge
from verify.observed import FaultKind
from verify.oracle import Base
from verify.subjects.load import Subject
from verify.subjects.peers import CONVENTIONS
from verify.subjects.tests.peer_kernels import RIGHT, Natural, NaturalOctaves, Octaves, kernels

LAWS = ("repeat", "batch", "neighbours", "position", "tail", "empties", "strides")
ALGEBRA = ("shift", "scale", "mass", "constant", "hull", "single")


def small_cases():
    """Return a small drawn case of each family."""
    found = {}
    for number in range(3000):
        recipe = draw_recipe(11, number)
        size = recipe.tokens * recipe.heads * recipe.segments * recipe.rank
        if recipe.family not in found and 0 < size <= 3000 and recipe.tokens * recipe.heads > 1:
            found[recipe.family] = expand(recipe)
        if len(found) == len(DRAWN):
            return found
    raise AssertionError(f"no small case of {set(DRAWN) - set(found)}")


CASES = small_cases()


def rich_case():
    """Return three tokens of two heads, five segments and seven columns, masses and maxima all different."""
    numbers = torch.Generator().manual_seed(1)
    m = torch.randn(3, 2, 5, generator=numbers)
    return MergeCase(
        segm_output=torch.randn(3, 2, 5, 7, generator=numbers),
        segm_max=m,
        segm_expsum=1 + torch.rand(3, 2, 5, generator=numbers),
        seq_lens=torch.tensor([40, 33, 64], dtype=torch.int32),
        tile_size=8,
        out_dtype="float32",
        domain=Domain.STRESS,
    )


RICH = rich_case()


def subject(name, merge):
    return Subject(name="", import_path="", source_sha256="", merge=merge, convention=CONVENTIONS[name])


def tried(name, merge, case, *, laws=()):
    job = Job(name="1/1", input=case, stream=Stream.DRAWN, laws=laws, seed=3)
    return Bench(subject(name, merge), load_bounds()).run(job, case)


def case_of(m, s, o, dtype="float32"):
    """Make a case of one token and head from nested lists: m [S], s [S], o [S, R]."""
    return MergeCase(
        segm_output=torch.tensor([[o]], dtype=torch.float32),
        segm_max=torch.tensor([[m]], dtype=torch.float32),
        segm_expsum=torch.tensor([[s]], dtype=torch.float32),
        seq_lens=torch.tensor([len(m)], dtype=torch.int32),
        tile_size=1,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("family", DRAWN)
def test_a_right_kernel_is_accepted_on_every_family(name, family):
    outcome = tried(name, RIGHT[name], CASES[family])
    assert outcome.faults == ()
    assert outcome.outputs >= CASES[family].outputs


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_right_kernel_keeps_the_laws_that_are_said_of_its_convention(name):
    outcome = tried(name, RIGHT[name], RICH, laws=LAWS + ALGEBRA)
    assert outcome.faults == ()
    spoken = {law for law, rows in outcome.laws.items() if rows}
    assert {"repeat", "batch", "neighbours", "position", "strides", "constant", "hull"} <= spoken
    assert not spoken & CONVENTIONS[name].silent_laws


BASES = {(Base.TWO, Base.E): Merge(), (Base.E, Base.E): Natural(), (Base.TWO, Base.TWO): Octaves()}
BASES[Base.E, Base.TWO] = NaturalOctaves()


@pytest.mark.parametrize("bases", BASES)
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_kernel_is_accepted_in_the_bases_of_its_convention_alone(name, bases):
    convention, merge = CONVENTIONS[name], BASES[bases]
    faults = tried(name, kernels(merge, merge, merge)[name], RICH).faults
    wrong = set()
    if bases[0] is not convention.base:
        wrong.add(FaultKind.WRONG_VALUE)
    if convention.lse_base is not None and bases != (convention.base, convention.lse_base):
        wrong.add(FaultKind.WRONG_LSE)
    assert {fault.kind for fault in faults} == wrong


def test_no_convention_lacks_a_kernel_here():
    assert set(RIGHT) == set(CONVENTIONS)


MASSLESS = case_of([-math.inf, -math.inf], [1.0, 1.0], [[5.0], [math.nan]])


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_row_without_mass_may_hold_what_the_convention_says_and_nothing_else(name):
    convention = CONVENTIONS[name]
    marks = [*convention.massless_output, 0.0]
    for y in (0.0, math.nan, 3.0, -math.inf):
        for log in (-math.inf, math.inf, math.nan, 0.0):
            kernel = of_constants(convention, y, log)
            faults = {fault.result for fault in tried(name, kernel, MASSLESS).faults}
            right = any(y == mark or (math.isnan(y) and math.isnan(mark)) for mark in marks)
            logs = [*convention.massless_lse, -math.inf]
            right_log = any(log == mark or (math.isnan(log) and math.isnan(mark)) for mark in logs)
            assert ("output" in faults) != right
            assert ("lse" in faults) == (not right_log and convention.lse_base is not None)


def of_constants(convention, y, log):
    """Return a kernel that gives these two numbers everywhere."""

    def kernel(*args, **named):
        given = dict(zip(convention.parameters, args, strict=False)) | named
        of: dict[str, Any] = {of: given.get(name.rstrip("=")) for name, of in convention.parameters.items()}
        dtype = of.get("dtype") or next(of[name].dtype for name in ("o", "o_a") if name in of)
        o = of["o"] if "o" in of else of["o_a"]
        sizes = dict(zip(convention.partials, o.shape, strict=True)) | {"1": 1}
        output = torch.full([sizes[axis] for axis in convention.output], y).to(dtype)
        lse = torch.full([sizes[axis] for axis in convention.lse], log)
        if convention.fills:
            of["output"].copy_(output)
            of["lse"].copy_(lse)
            return None
        return output if convention.lse_base is None else (output, lse)

    return kernel


@pytest.mark.parametrize(
    "name", [name for name, entry in CONVENTIONS.items() if entry.massless_lse != (-math.inf,)]
)
def test_markers_mean_nothing_in_a_row_that_has_mass(name):
    case = case_of([0.0, 1.0], [1.0, 1.0], [[1.0], [3.0]])
    for y, log in ((math.nan, math.inf), (math.nan, math.nan), (0.0, -math.inf)):
        kernel = of_constants(CONVENTIONS[name], y, log)
        assert {fault.result for fault in tried(name, kernel, case).faults} == {"output", "lse"}


def test_a_kernel_without_an_lse_is_judged_by_its_output_alone():
    outcome = tried("aiter_mla_reduce", RIGHT["aiter_mla_reduce"], RICH)
    assert {stratum.key.result for stratum in outcome.strata} == {"output"}
    pair = tried("aiter_mla_reduce", lambda *a: (torch.zeros(1), torch.zeros(1)), RICH)
    assert [fault.kind for fault in pair.faults] == [FaultKind.WRONG_SHAPE_OR_DTYPE]
    assert "wanted the output alone" in pair.faults[0].message


def test_a_kernel_that_writes_to_what_it_was_given_is_named_with_its_own_parameter():
    right = RIGHT["vllm_merge_attn_states"]

    def kernel(*args):
        right(*args)
        args[2].fill_(0.0)

    faults = tried("vllm_merge_attn_states", kernel, RICH).faults
    assert [fault.kind for fault in faults] == [FaultKind.TOUCHED_INPUT]
    assert "prefix_lse changed" in faults[0].message


def test_what_a_kernel_does_not_fill_was_never_written():
    right = RIGHT["vllm_merge_attn_states"]

    def kernel(output, *rest):
        right(output.clone(), *rest)

    faults = tried("vllm_merge_attn_states", kernel, RICH).faults
    assert [(fault.kind, fault.result) for fault in faults] == [(FaultKind.UNWRITTEN_OUTPUT, "output")]


def test_an_lse_with_swapped_axes_is_of_the_wrong_shape():
    right = RIGHT["flashinfer_merge_states"]

    def kernel(v, s):
        output, lse = right(v, s)
        return output, lse.T.contiguous()

    case = RICH
    assert case.T != case.H
    faults = tried("flashinfer_merge_states", kernel, case).faults
    assert [fault.kind for fault in faults] == [FaultKind.WRONG_SHAPE_OR_DTYPE]
    assert f"lse has shape [{case.H}, {case.T}], wanted [{case.T}, {case.H}]" in faults[0].message


def test_a_station_calls_the_kernel_of_a_file_by_the_convention_it_is_told(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(
        "from verify.subjects.tests.peer_kernels import RIGHT\n"
        "def merge(v_a, s_a, v_b, s_b):\n"
        "    return RIGHT['sglang_merge_state'](v_a, s_a, v_b, s_b)\n"
    )
    plain = StationSettings(kernel=f"{file}:merge", device="cpu", cores=1, bounds=load_bounds())
    station = Station(replace(plain, convention="sglang_merge_state"))
    job = Job(name="1/1", input=RICH)
    assert station.run(job).faults == ()
    assert described(station.subject)["convention"] == "sglang_merge_state"
    faults = Station(plain).run(job).faults
    assert [fault.kind for fault in faults] == [FaultKind.CRASH]
