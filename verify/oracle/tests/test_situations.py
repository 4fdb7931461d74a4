"""The contract's table of situations, in its order."""

import math

import pytest
import torch

from verify.oracle import Base, Exact, Kind, evaluate, evaluate_plainly
from verify.oracle.tests.seven import BFLOAT16, E4M3FN, FLOAT32, FORMATS, Plain

NAN, INF = math.nan, math.inf


def merge(
    m,
    s,
    o,
    fmt: Plain = FLOAT32,
    active: int | None = None,
    *,
    base: Base = Base.TWO,
    lse_base: Base = Base.E,
) -> Exact:
    """Evaluate one row; o has one list of R values per segment."""
    segments = len(m)
    return evaluate(
        torch.tensor(o, dtype=torch.float32).reshape(1, 1, segments, -1),
        torch.tensor(m, dtype=torch.float32).reshape(1, 1, segments),
        torch.tensor(s, dtype=torch.float32).reshape(1, 1, segments),
        torch.tensor([segments if active is None else active]),
        fmt,
        FLOAT32,
        base=base,
        lse_base=lse_base,
    )


def numbers(exact: Exact) -> list[float]:
    assert (exact.output.kind == Kind.NUMBER).all()
    return exact.output.rounded.flatten().tolist()


@pytest.mark.parametrize(
    ("m", "s", "active"),
    [
        ([-INF, -INF], [1, 1], 2),
        ([-INF, -INF], [NAN, NAN], 2),
        ([-INF, -INF], [-1, INF], 2),
        ([0, 3], [0, -0.0], 2),
        ([INF, -INF], [0, 0], 2),
        ([NAN, INF], [NAN, -1], 0),
    ],
)
def test_row_without_live_segment_is_zero_and_minus_infinity(m, s, active):
    exact = merge(m, s, [[NAN, 1], [INF, 2]], active=active)
    assert numbers(exact) == [0.0, 0.0]
    assert exact.output.exponent.flatten().tolist() == [-126, -126]
    assert exact.lse.kind.item() == Kind.INFINITE
    assert exact.lse.rounded.item() == -INF


@pytest.mark.parametrize(
    ("m", "s"),
    [
        ([0, NAN], [1, 1]),
        ([0, NAN], [1, 0]),  # s = 0 is empty only where m is not NaN
        ([0, 0], [1, NAN]),
        ([0, INF], [1, 1]),
        ([0, 0], [1, -1]),
        ([0, 0], [1, -INF]),
        ([0, 0], [1, INF]),
        ([INF, NAN], [1, INF]),
    ],
)
@pytest.mark.parametrize("fmt", [FLOAT32, E4M3FN])
def test_broken_statistics_make_the_whole_row_nan(m, s, fmt):
    exact = merge(m, s, [[1, INF, NAN], [1, 2, 3]], fmt)
    assert (exact.output.kind == Kind.NAN).all()
    assert exact.output.rounded.isnan().all()
    assert exact.lse.kind.item() == Kind.NAN


def test_non_finite_partials_stay_in_their_columns():
    o = [[NAN, INF, INF, -INF, 1], [1, -INF, 2, 5, 3]]
    exact = merge([0, 0], [1, 1], o)
    assert exact.output.kind.flatten().tolist() == [1, 1, 2, 2, 0]
    assert exact.output.rounded.flatten().tolist()[2:] == [INF, -INF, 2.0]
    assert exact.lse.rounded.item() == pytest.approx(math.log(2), abs=1e-7)
    assert exact.lse.kind.item() == Kind.NUMBER


def test_infinite_partial_counts_whatever_its_weight():
    exact = merge([0, -3e38], [1, 1], [[1], [-INF]])
    assert exact.output.rounded.item() == -INF
    assert exact.output.kind.item() == Kind.INFINITE


def test_infinite_partial_saturates_in_fp8_and_nan_does_not():
    exact = merge([0, 0], [1, 1], [[INF, -INF, NAN, INF], [1, 1, 1, -INF]], E4M3FN)
    assert exact.output.kind.flatten().tolist() == [0, 0, 1, 1]
    assert exact.output.rounded.flatten().tolist()[:2] == [448.0, -448.0]
    assert exact.output.exponent.flatten().tolist()[:2] == [8, 8]


def test_empty_and_inactive_segments_are_ignored_whatever_they_hold():
    m, s = [0, -INF, 5, NAN, INF], [2, NAN, 0, NAN, INF]
    o = [[2, -4], [NAN, INF], [NAN, INF], [NAN, NAN], [INF, -INF]]
    exact = merge(m, s, o, active=3)
    assert numbers(exact) == [1.0, -2.0]
    assert exact.lse.rounded.item() == float(torch.tensor(math.log(2), dtype=torch.float32))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_overflow_to_infinity(name):
    fmt = FORMATS[name]
    ulp = 2.0 ** (fmt.emax - fmt.precision + 1)
    midpoint = fmt.max_value + ulp / 2
    below, above = (float(torch.nextafter(torch.tensor(midpoint), torch.tensor(x))) for x in (0.0, INF))
    exact = merge([0], [1], [[fmt.max_value, below, midpoint, above, -above, -midpoint]], fmt)
    assert numbers(exact) == [fmt.max_value, fmt.max_value, INF, INF, -INF, -INF]
    residual = exact.output.residual.flatten().tolist()  # an infinity stands for 2^(emax + 1)
    assert residual == pytest.approx([0, 0.5, -0.5, -0.5, 0.5, 0.5], abs=1e-3)
    assert residual[2] == -0.5
    assert residual[3] == -residual[4] == (above - 2.0 ** (fmt.emax + 1)) / ulp
    assert exact.output.exponent.unique().tolist() == [fmt.emax]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_far_overflow_is_clamped(name):
    fmt = FORMATS[name]
    exact = merge([0], [2.0**-100], [[2.0**100, -(2.0**100)]], fmt)
    assert numbers(exact) == [INF, -INF]
    assert exact.output.residual.flatten().tolist() == [0.0, 0.0]
    assert exact.output.exponent.flatten().tolist() == [fmt.emax + 1] * 2


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.saturates])
def test_saturation(name):
    fmt = FORMATS[name]
    ulp = 2.0 ** (fmt.emax - fmt.precision + 1)
    inside = fmt.max_value - ulp / 4
    exact = merge([0], [1], [[inside, fmt.max_value, fmt.max_value + ulp, -3e38, -inside]], fmt)
    assert numbers(exact) == [fmt.max_value] * 3 + [-fmt.max_value] * 2
    assert exact.output.residual.flatten().tolist() == pytest.approx([-0.25, 0, 0, 0, 0.25], abs=2.0**-12)
    assert exact.output.exponent.unique().tolist() == [fmt.emax]


def test_overflow_of_float32():
    biggest = FLOAT32.max_value
    exact = merge([0, 0], [1, 1], [[biggest, biggest], [biggest, biggest]])
    assert numbers(exact) == [biggest, biggest]
    # y = max/s: with s = 1 − 2^-24 it is above the midpoint max·(1 + 2^-25), with s = 1/2 far above 2^128
    exact = merge([0], [1 - 2.0**-24], [[biggest, -biggest]])
    assert numbers(exact) == [INF, -INF]
    assert exact.output.residual.flatten().tolist() == [0.0, 0.0]  # max/s = 2^128 exactly: max = 2^128·s
    assert exact.output.exponent.flatten().tolist() == [128, 128]
    assert numbers(merge([0], [0.5], [[biggest]])) == [INF]


def test_subnormal_results_are_not_flushed():
    tiny = 2.0**-149
    exact = merge([0], [1], [[tiny, 3 * tiny, -tiny]])
    assert numbers(exact) == [tiny, 3 * tiny, -tiny]
    exact = merge([0], [2], [[tiny, 3 * tiny, -5 * tiny]])
    assert numbers(exact) == [0.0, 2 * tiny, -2 * tiny]  # ties to even
    assert exact.output.residual.flatten().tolist() == [0.5, -0.5, -0.5]
    assert numbers(merge([0], [1], [[2.0**-10, 2.0**-11, 3 * 2.0**-11]], E4M3FN)) == [0.0, 0.0, 2.0**-9]


def test_rounding_up_into_the_next_binade_keeps_the_exponent_of_the_exact_value():
    exact = merge([0], [1], [[2 - 2.0**-10, 2.0, 2 + 2.0**-10]], BFLOAT16)
    assert numbers(exact) == [2.0, 2.0, 2.0]
    assert exact.output.exponent.flatten().tolist() == [0, 1, 1]
    assert exact.output.residual.flatten().tolist() == pytest.approx([-(2.0**-3), 0.0, 2.0**-4], abs=2.0**-12)


def test_shapes_and_dtypes_are_checked():
    o, m = torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3)
    active = torch.tensor([3, 0])
    with pytest.raises(ValueError, match=r"segm_max has shape \(2, 1\)"):
        evaluate(o, m[..., 0], m, active, FLOAT32, FLOAT32)
    with pytest.raises(ValueError, match=r"segm_expsum has dtype torch\.float64"):
        evaluate(o, m, m.double(), active, FLOAT32, FLOAT32)
    with pytest.raises(ValueError, match=r"\[T, H, S, R\] is wanted"):
        evaluate(o[0], m, m, active, FLOAT32, FLOAT32)
    with pytest.raises(ValueError, match=r"outside of 0\.\.3"):
        evaluate(o, m, m, torch.tensor([4, 0]), FLOAT32, FLOAT32)
    for wrong in ({"base": "10"}, {"lse_base": 2}):
        with pytest.raises(ValueError, match="is not a valid Base"):
            evaluate(o, m, m, active, FLOAT32, FLOAT32, **wrong)
        with pytest.raises(ValueError, match="is not a valid Base"):
            evaluate_plainly(o, m, m, active, FLOAT32, FLOAT32, **wrong)
    with pytest.raises(ValueError, match="integers"):
        evaluate(o, m, m, torch.tensor([1.0, 0.0]), FLOAT32, FLOAT32)


def test_shapes_of_the_answer_and_empty_tensors():
    none, no_mass = torch.zeros(0, 2, 3, 4), torch.zeros(0, 2, 3)
    exact = evaluate(none, no_mass, no_mass, torch.zeros(0, dtype=torch.int64), BFLOAT16, FLOAT32)
    assert exact.output.rounded.shape == (0, 2, 4)
    assert exact.lse.rounded.shape == (0, 2)
    o = torch.arange(24.0).reshape(2, 1, 3, 4).transpose(0, 3)  # any strides: [4, 1, 3, 2]
    ones = torch.ones(4, 1, 3)
    exact = evaluate(o, ones, ones, torch.tensor([3, 2, 1, 3], dtype=torch.int32), FLOAT32, FLOAT32)
    assert exact.output.kind.dtype == torch.int8
    assert exact.output.exponent.dtype == torch.int32
    assert exact.output.rounded.shape == (4, 1, 2)
    assert exact.output.rounded[:, 0].tolist() == [[4.0, 16.0], [3.0, 15.0], [2.0, 14.0], [7.0, 19.0]]
    assert sum(exact.tiers.values()) == 12
