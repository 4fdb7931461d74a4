"""The honest merge must be honest, or the tests that accept it say nothing."""

import math
from fractions import Fraction

import pytest
import torch

from fuzz.formats import FORMATS, decode, round_to, ulp
from verify.museum import honest
from verify.museum.honest import reference_merge
from verify.tests.acceptance import ordinary


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
def test_rounding_is_single_and_correct_for_doubles(fmt):
    codes = range(fmt.max_code + 1) if fmt.bits == 8 else range(0, fmt.max_code + 1, fmt.max_code // 997)
    doubles = [0.0, math.inf, math.nan, 2.0**300, 2.0**-300, 2.0**-1074]
    for code in (*codes, fmt.max_code):
        value = decode(code, fmt)
        tie = float(Fraction(value) + ulp(value, fmt) / 2)
        doubles += [
            value,
            math.nextafter(value, 0),
            tie,
            math.nextafter(tie, 0),
            math.nextafter(tie, math.inf),
        ]
    y = torch.tensor(doubles + [-x for x in doubles], dtype=torch.float64)
    expected = torch.tensor([round_to(x, fmt) for x in y.tolist()], dtype=torch.float64)
    rounded = reference_merge.rounded(y, fmt)
    torch.testing.assert_close(rounded, expected, rtol=0, atol=0, equal_nan=True)
    stored = rounded.to(fmt.torch_dtype).double()
    torch.testing.assert_close(stored, expected, rtol=0, atol=0, equal_nan=True)


def test_tokens_in_chunks_give_the_bits_of_all_at_once(monkeypatch):
    case = ordinary(7, 2, 3, 5)
    arguments = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens, 1, torch.float32)
    whole = reference_merge(*arguments)
    monkeypatch.setattr(honest, "_CHUNK", 2 * 2 * 3 * 5)
    for chunked, at_once in zip(reference_merge(*arguments), whole, strict=True):
        assert torch.equal(chunked, at_once)


@pytest.mark.parametrize("tile_size", [0, 2**31])
def test_an_illegal_tile_is_refused(tile_size):
    case = ordinary(1, 1, 2, 1)
    with pytest.raises(ValueError, match=f"tile_size is {tile_size}"):
        reference_merge(
            case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens, tile_size, torch.float16
        )


def test_no_tokens_and_no_heads_give_empty_results():
    for tokens, heads in ((0, 3), (3, 0)):
        o, m = torch.zeros(tokens, heads, 2, 4), torch.zeros(tokens, heads, 2)
        lengths = torch.ones(tokens, dtype=torch.int64)
        output, lse = reference_merge(o, m, m, lengths, 1, torch.bfloat16)
        assert (output.shape, output.dtype) == ((tokens, heads, 4), torch.bfloat16)
        assert (lse.shape, lse.dtype) == ((tokens, heads), torch.float32)


def test_the_logarithm_is_as_good_as_a_library_s():
    x = torch.linspace(math.sqrt(0.5), math.sqrt(2), 10_001, dtype=torch.float64)
    exact = [math.log(value) for value in x.tolist()]
    error = (honest._log(x) - torch.tensor(exact, dtype=torch.float64)).abs()
    assert bool((error <= 4 * 2.0**-53 * torch.tensor(exact).abs()).all())
    assert honest._log(torch.ones(1, dtype=torch.float64)).item() == 0.0
