"""The integer rounding, against the values of an independent library at every code."""

import ml_dtypes
import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from mla_merge.rounding import RULES, round_to_bfloat16, round_to_float32, round_to_narrow

WITNESS = {
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
BLOCK = 1 << 16


@triton.jit
def rounding_kernel(
    x_ptr,
    code_ptr,
    n,
    precision,
    emin,
    max_code,
    overflow_code,
    nan_code,
    sign_code,
    signed_zero,
    kind: tl.constexpr,
    block: tl.constexpr,
):
    i = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if kind == "float32":
        code = round_to_float32(x)
    elif kind == "bfloat16":
        code = round_to_bfloat16(x)
    else:
        code = round_to_narrow(x, precision, emin, max_code, overflow_code, nan_code, sign_code, signed_zero)
    tl.store(code_ptr + i, code, mask=i < n)


def rounded(x: np.ndarray, dtype: torch.dtype, device: torch.device, kind: str | None = None) -> torch.Tensor:
    """Round as the kernel does for the dtype, or by the function of another kind."""
    rule = RULES[dtype]
    source = torch.from_numpy(x).to(device)
    code = torch.empty(x.shape, dtype=rule.storage, device=device)
    block = BLOCK if device.type == "cpu" else 1024
    with np.errstate(all="ignore"):  # the interpreter's numpy warns of overflows that IEEE defines
        rounding_kernel[(triton.cdiv(x.size, block),)](
            source,
            code,
            x.size,
            rule.precision,
            rule.emin,
            rule.max_code,
            rule.overflow_code,
            rule.nan_code,
            rule.sign_code,
            int(rule.signed_zero),
            kind or str(dtype).removeprefix("torch."),
            block,
            enable_fp_fusion=False,
        )
    return code.view(dtype).cpu()


def codes_of(result: torch.Tensor) -> np.ndarray:
    rule = RULES[result.dtype]
    return result.view(rule.storage).numpy().astype(np.int64) & (2 * rule.sign_code - 1)


def values(codes: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Exact float64 values of codes, by the independent library."""
    width = {1: np.uint8, 2: np.uint16, 4: np.uint32}[RULES[dtype].storage.itemsize]
    return np.asarray(codes.astype(width).view(WITNESS[dtype]), dtype=np.float64)


def finite_codes(dtype: torch.dtype) -> np.ndarray:
    """Every code of a finite non-negative value; of float32 the edges of all binades and a sample."""
    last = RULES[dtype].max_code
    if dtype != torch.float32:
        return np.arange(last + 1)
    binades = np.arange(0, last, 1 << 23)
    sample = np.random.default_rng(5).integers(0, last + 1, 20_000)
    edges = np.concatenate([binades, binades + 1, binades[1:] - 1, [last - 1, last]])
    return np.unique(np.concatenate([edges, sample]))


@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_table_matches_the_independent_library(dtype):
    rule = RULES[dtype]
    top = values(np.array([rule.max_code]), dtype)[0]
    assert top == float(ml_dtypes.finfo(WITNESS[dtype]).max)
    assert np.isnan(values(np.array([rule.nan_code]), dtype)[0])
    # Every code above the largest finite one is an infinity or NaN.
    above = values(np.array([rule.max_code + 1, rule.overflow_code]), dtype)
    assert not np.isfinite(above[0])
    assert above[1] == (np.inf if rule.overflow_code > rule.max_code else top)


def negative_zero(dtype: torch.dtype) -> int:
    """The code of a negative number that rounds to zero."""
    rule = RULES[dtype]
    return rule.sign_code if rule.signed_zero and dtype != torch.bfloat16 else 0


@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_every_code_and_midpoint(dtype, device):
    """A value keeps its code; between two the nearer wins; a midpoint goes to the even code."""
    rule = RULES[dtype]
    code = finite_codes(dtype)
    value = values(code, dtype)
    following = values(np.minimum(code + 1, rule.max_code), dtype)
    # Past the largest value the grid goes on with the same step.
    below_top = values(np.array([rule.max_code - 1]), dtype)[0]
    following = np.where(code == rule.max_code, 2 * value - below_top, following)
    upper = np.where(code == rule.max_code, rule.overflow_code, code + 1)
    middle = (value + following) / 2
    assert np.all((value < middle) & (middle < following))
    even = np.where(code % 2 == 0, code, upper)
    x = [value, np.nextafter(value, np.inf), np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf)]
    x.append(np.nextafter(following, 0))
    expected = [code, code, code, even, upper, upper]
    points, wanted = np.concatenate(x), np.concatenate(expected)
    np.testing.assert_array_equal(codes_of(rounded(points, dtype, device)), wanted)
    negated = np.where(wanted == 0, negative_zero(dtype), wanted + rule.sign_code)
    np.testing.assert_array_equal(codes_of(rounded(-points, dtype, device)), negated)


@pytest.mark.parametrize("dtype", RULES, ids=str)
def test_extremes(dtype, device):
    rule = RULES[dtype]
    tiny = np.array([5e-324, 2.0**-1022, 1e-300, 2.0**-160, 0.0])
    np.testing.assert_array_equal(codes_of(rounded(tiny, dtype, device)), 0)
    np.testing.assert_array_equal(codes_of(rounded(-tiny, dtype, device)), negative_zero(dtype))
    huge = np.array([1e39, 1e250, np.inf])
    np.testing.assert_array_equal(codes_of(rounded(huge, dtype, device)), rule.overflow_code)
    np.testing.assert_array_equal(
        codes_of(rounded(-huge, dtype, device)), rule.overflow_code + rule.sign_code
    )
    payloads = [0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8000000000000, 0xFFFFFFFFFFFFFFFF]
    nans = np.array(payloads, dtype=np.uint64).view(np.float64)
    np.testing.assert_array_equal(codes_of(rounded(nans, dtype, device)), rule.nan_code)


@pytest.mark.parametrize(("value", "code"), [(447, 448), (464, 448), (465, 448), (1000, 448), (-1000, -448)])
def test_e4m3fn_saturates(value, code, device):
    assert rounded(np.array([float(value)]), torch.float8_e4m3fn, device).double().item() == code


def test_one_rounding_only(device):
    """1 + 2^-8 + 2^-40 is above the midpoint; a path through float32 would land on it and go to even."""
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    assert rounded(x, torch.bfloat16, device).double().item() == 1 + 2.0**-7


def test_two_ways_to_bfloat16_agree(device):
    """The quick one and the one by integers, on the edges of every binade and on any bits at all."""
    code = finite_codes(torch.bfloat16)
    value = values(code, torch.bfloat16)
    middle = (value[:-1] + value[1:]) / 2
    rng = np.random.default_rng(6)
    anything = rng.integers(0, 2**63, 200_000, dtype=np.uint64).view(np.float64)
    anything[(anything > 2.0**900) & (anything < np.inf)] = np.inf
    near = np.exp2(rng.uniform(-140, 130, 200_000))
    x = np.concatenate([value, middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf), anything, near])
    x = np.concatenate([x, -x])
    quick = codes_of(rounded(x, torch.bfloat16, device))
    by_integers = codes_of(rounded(x, torch.bfloat16, device, kind="narrow"))
    np.testing.assert_array_equal(quick, np.where(by_integers == 0x8000, 0, by_integers))
