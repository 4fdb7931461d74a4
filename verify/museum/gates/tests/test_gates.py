"""Each gate shows what its recipe says, allows what its recipe allows, and notices what it can."""

import math

import pytest
import torch

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS
from verify.museum.gates.reference import expected
from verify.museum.gates.registry import GATES
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.tests.noticing import exact_of

NOTICED = {
    "unit": ("length_ignored", "no_length_as_one", "no_guard", "pairs_of_columns", "natural_weights"),
    "reduce": ("tile_grouping_ignored", "one_segment_too_many", "at_most_64_segments", "mass_left_out"),
    "combine": ("minus_infinity_is_no_empty", "truncating_store", "tf32_values", "power_of_two_segments"),
    "cascade": ("bfloat16_statistics", "refuses_odd_ranks", "lse_in_bfloat16", "power_of_two_columns"),
}
MISSED = {
    "unit": ("mass_left_out", "at_most_64_segments", "truncating_store", "bfloat16_weights"),
    "reduce": ("no_guard", "bfloat16_weights", "lse_in_bfloat16", "power_of_two_segments"),
    "combine": ("length_ignored", "tile_grouping_ignored", "power_of_two_columns", "output_in_float32"),
    "cascade": ("truncating_store", "no_guard", "tf32_values", "at_most_64_segments"),
}
HIDDEN = (
    *("hidden_nan", "unscaled_float32_sums", "strides_ignored"),
    *("one_beyond_lse", "every_second_call", "padding_overwritten"),
)


@pytest.fixture(autouse=True)
def _single_thread():
    # As in a run: on tensors so small, a second thread costs more than it does.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Off:
    """The exact merge, each result off by so much of what a gate allows."""

    def __init__(self, output, lse):
        self.off = output, lse

    def __call__(self, o, m, s, lengths, tile, dtype):
        name = str(dtype).removeprefix("torch.")
        exact = expected(case_of(o, m, s, lengths, tile, name))
        y, lse = (x + off(x) for x, off in zip(exact, self.off, strict=True))
        return y.to(dtype), lse.float()


def case_of(o, m, s, lengths, tile, dtype):
    return MergeCase(
        segm_output=o,
        segm_max=m,
        segm_expsum=s,
        seq_lens=lengths,
        tile_size=tile,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


def flat(size):
    return lambda x: torch.full_like(x, size)


def relative(size):
    return lambda x: size * (1 + x.abs().nan_to_num(0.0, 0.0))


def proportional(size):
    return lambda x: size * x.abs().nan_to_num(0.0, 0.0)


def none(x):
    return torch.zeros_like(x)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("kernel", ["in_order", "ties_away_from_zero", "float32"])
def test_a_sound_kernel_passes(gate, kernel):
    assert GATES[gate].complaint(SOUND[kernel], "cpu") == ""


@pytest.mark.parametrize(("gate", "names"), NOTICED.items())
def test_what_a_gate_notices(gate, names):
    assert [name for name in names if not GATES[gate].complaint(EXHIBITS[name], "cpu")] == []


@pytest.mark.parametrize(("gate", "names"), MISSED.items())
def test_what_a_gate_misses(gate, names):
    assert {name: GATES[gate].complaint(EXHIBITS[name], "cpu") for name in names} == dict.fromkeys(names, "")


def test_what_hides_from_all_of_them():
    said = {name: [gate.complaint(EXHIBITS[name], "cpu") for gate in GATES.values()] for name in HIDDEN}
    assert said == dict.fromkeys(HIDDEN, [""] * 4)


@pytest.mark.parametrize(
    ("gate", "within", "beyond"),
    [
        ("unit", Off(none, none), Off(flat(3e-5), none)),
        ("unit", Off(flat(1.1e-5 * 0.9), none), Off(none, flat(2e-5))),
        ("reduce", Off(relative(0.014), relative(0.019)), Off(relative(0.026), none)),
        ("reduce", Off(none, none), Off(none, relative(0.021))),
        ("reduce", Off(flat(0.015), flat(0.019)), Off(flat(0.026), none)),
        ("reduce", Off(none, flat(0.019)), Off(none, flat(0.035))),
        ("reduce", Off(none, proportional(0.019)), Off(none, proportional(0.026))),
        ("reduce", Off(proportional(0.014), none), Off(proportional(0.026), none)),
        ("combine", Off(none, none), Off(flat(math.nan), none)),
        ("combine", Off(flat(0.9e-5), flat(0.9e-5)), Off(flat(1.2e-5), none)),
        ("combine", Off(none, none), Off(none, flat(1.2e-5))),
        ("cascade", Off(relative(4e-4), relative(9e-4)), Off(relative(1.6e-3), none)),
        ("cascade", Off(none, none), Off(none, relative(1.1e-3))),
        ("cascade", Off(flat(4e-4), flat(9e-4)), Off(flat(1.6e-3), none)),
        ("cascade", Off(none, none), Off(none, flat(1.5e-3))),
        ("cascade", Off(proportional(4e-4), proportional(9e-4)), Off(proportional(2.5e-3), none)),
        ("cascade", Off(none, none), Off(none, proportional(2e-3))),
    ],
)
def test_what_a_gate_allows(gate, within, beyond):
    assert GATES[gate].complaint(within, "cpu") == ""
    assert "AssertionError" in GATES[gate].complaint(beyond, "cpu")


def test_the_unit_test_is_the_one_of_the_recipe():
    (case,) = GATES["unit"].cases()
    assert (case.T, case.H, case.S, case.R, case.tile_size, case.out_dtype) == (2, 1, 2, 1, 1, "float32")
    assert case.active.tolist() == [2, 0]
    assert case.segm_max[0].tolist() == [[0.0, 1.0]]
    assert case.segm_expsum[0].tolist() == [[1.0, 1.0]]
    assert case.segm_output[0].tolist() == [[[1.0], [3.0]]]
    assert (case.segm_output[1] == 99).all()


@pytest.mark.parametrize(
    ("gate", "segments", "dtypes", "spread"),
    [
        ("reduce", (2, 128), {"bfloat16"}, 4.0),
        ("combine", (1, 133), {"float32", "float16", "bfloat16"}, 1.0),
        ("cascade", (2, 33), {"float16"}, 1.0),
    ],
)
def test_the_drawn_cases_are_those_of_the_recipe(gate, segments, dtypes, spread):
    cases = list(GATES[gate].cases())
    assert (min(case.S for case in cases), max(case.S for case in cases)) == segments
    for count in {case.S for case in cases}:
        assert {case.out_dtype for case in cases if count == case.S} == dtypes
    m = torch.cat([case.segm_max.flatten() for case in cases])
    finite = m[m.isfinite()]
    assert finite.std().item() == pytest.approx(spread, rel=0.1)
    o = torch.cat([case.segm_output.flatten() for case in cases])
    s = torch.cat([case.segm_expsum.flatten() for case in cases])
    assert o.isfinite().all()
    assert s.isfinite().all()
    assert (s > 0).all()
    assert all(case.active.max() == case.S for case in cases)
    ragged = any(case.active.min() < case.S for case in cases)
    assert ragged == (gate == "reduce")
    again = list(GATES[gate].cases())
    assert all(torch.equal(a.segm_output, b.segm_output) for a, b in zip(cases, again, strict=True))


def test_half_of_the_segments_are_empty_in_some_rows_of_the_combination_alone():
    for case in GATES["combine"].cases():
        empty = (case.segm_max == -math.inf).sum(-1)
        assert empty[0].tolist() == [(case.S + 1) // 2] * case.H
        assert not empty[1:].any()
    for gate in ("unit", "reduce", "cascade"):
        assert all(case.segm_max.isfinite().all() for case in GATES[gate].cases())


@pytest.mark.parametrize("gate", GATES)
def test_the_reference_is_what_the_oracle_says(gate):
    for case in list(GATES[gate].cases())[:4]:
        exact = exact_of(case)
        for x, values, name in zip(
            expected(case), (exact.output, exact.lse), (case.out_dtype, "float32"), strict=True
        ):
            ulp = torch.exp2(values.exponent.double() - (FORMATS[name].precision - 1))
            off = torch.where(x == values.rounded, 0.0, (x - values.rounded) / ulp - values.residual)
            assert off.abs().max() < 2e-3


def test_whatever_is_raised_counts():
    def leaves(*_):
        raise SystemExit(3)

    assert GATES["unit"].complaint(leaves, "cpu") == "SystemExit: 3 (S = 2, float32)"
    assert GATES["unit"].complaint(lambda *_: None, "cpu").startswith("TypeError: ")


def test_every_call_is_announced():
    calls: list[None] = []
    GATES["cascade"].complaint(SOUND["in_order"], "cpu", calling=lambda: calls.append(None))
    assert len(calls) == 3
