import math
from fractions import Fraction

import pytest
import torch

from fuzz.case import Domain, MergeCase
from verify.bounds import DEFAULT_BOUNDS, FP32_BOUNDS, load_bounds, second_terms
from verify.bounds.float64 import Float64Bounds

INF = math.inf


def case(m, s, o, length=None, tile=1):
    segments = len(m)
    return MergeCase(
        segm_output=torch.tensor(o, dtype=torch.float32).reshape(1, 1, segments, -1),
        segm_max=torch.tensor([[m]], dtype=torch.float32),
        segm_expsum=torch.tensor([[s]], dtype=torch.float32),
        seq_lens=torch.tensor([segments if length is None else length], dtype=torch.int32),
        tile_size=tile,
        out_dtype="float32",
        domain=Domain.STRESS,
    )


def by_hand(m, s, c, segments):
    """Return Σ (S + 16 + |m − M|)·|c|·2^m / Σ s·2^m · 2^-53 in fractions, for integer m."""
    top = max(m)
    den = sum(Fraction(si) * Fraction(2) ** mi for si, mi in zip(s, m, strict=True))
    parts = zip(m, c, strict=True)
    num = sum((segments + 16 + abs(mi - top)) * abs(Fraction(ci)) * Fraction(2) ** mi for mi, ci in parts)
    return float(num / den / 2**53)


def test_the_numbers_are_those_of_the_contract():
    bounds = load_bounds()
    assert isinstance(bounds, Float64Bounds)
    assert (bounds.ulp, bounds.unit_roundoff_log2) == (0.501, -53)
    assert (bounds.per_segment, bounds.constant, bounds.per_exponent) == (1, 16, 1)
    assert len(bounds.sha256) == 64


def test_the_second_terms_follow_the_formula():
    m, s, o = [0, -3, 5], [1.5, 2.0, 0.25], [1.0, -7.0, 3.5]
    terms = second_terms(case(m, s, o), load_bounds())
    assert terms.output.item() == pytest.approx(by_hand(m, s, o, 3), rel=1e-12, abs=0.0)
    assert terms.lse.item() == pytest.approx(by_hand(m, s, s, 3), rel=1e-12, abs=0.0)


def test_only_live_segments_count_and_the_maximum_is_theirs():
    m, s, o = [0, 100, 7, -INF, 50], [1.5, 0.0, 2.0, 1.0, 3.0], [1.0, math.nan, -7.0, INF, 9.0]
    terms = second_terms(case(m, s, o, length=4), load_bounds())
    assert terms.output.item() == pytest.approx(
        by_hand([0, 7], [1.5, 2.0], [1.0, -7.0], 5), rel=1e-12, abs=0.0
    )
    assert terms.lse.item() == pytest.approx(by_hand([0, 7], [1.5, 2.0], [1.5, 2.0], 5), rel=1e-12, abs=0.0)


def test_a_row_without_mass_is_granted_nothing():
    terms = second_terms(case([-INF, 0.0], [1.0, 0.0], [1.0, 1.0]), load_bounds())
    assert terms.output.item() == 0.0
    assert terms.lse.item() == 0.0


@pytest.mark.parametrize(
    ("m", "s", "granted"),
    [
        ([3.0], [1.7], False),  # an integer maximum
        ([3.3], [0.25], False),  # a power of two
        ([3.3], [2.0**-149], False),  # a subnormal power of two
        ([3.3], [1.7], True),
        ([3.0, 1.0], [1.0, 1.0], True),  # two live segments
        ([3.0, -INF], [1.7, 1.0], False),  # one live segment beside an empty one
    ],
)
def test_the_flat_rule_of_the_lse(m, s, granted):
    terms = second_terms(case(m, s, [1.0] * len(m)), load_bounds())
    assert (terms.lse.item() > 0.0) is granted


def test_huge_and_vanishing_weights_stay_finite():
    terms = second_terms(case([3e38, -3e38, 0.0], [2.0**-149, 3e38, 1.0], [3e38, -3e38, 1.0]), load_bounds())
    assert math.isfinite(terms.output.item())
    assert math.isfinite(terms.lse.item())


@pytest.mark.parametrize(
    ("m", "s"),
    [
        ([math.nan, 0.0], [1.0, 1.0]),
        ([0.0, 0.0], [math.nan, 1.0]),
        ([INF, 0.0], [1.0, 1.0]),
        ([0.0, 0.0], [-1.0, 1.0]),
        ([0.0, 0.0], [INF, 1.0]),
        ([-INF, 0.0], [1.0, 0.0]),
    ],
)
@pytest.mark.parametrize("name", ["default", "fp32"])
def test_a_row_without_a_finite_answer_is_spoken_of_and_granted_nothing(name, m, s):
    terms = second_terms(case(m, s, [1.0, INF]), load_bounds(name))
    assert terms.output.item() == 0.0
    assert terms.lse.item() == 0.0
    assert terms.out_of_domain == {}


@pytest.mark.parametrize("name", ["default", "fp32"])
def test_no_rows_have_no_terms(name):
    empty = case([0.0], [1.0], [1.0])._map(lambda tensor: tensor[:0])
    terms = second_terms(empty, load_bounds(name))
    assert terms.output.shape == (0, 1, 1)
    assert terms.lse.shape == (0, 1)


def test_bounds_are_named_as_they_were_asked_for(tmp_path):
    assert (load_bounds().name, load_bounds().file) == ("default", "mla_merge/bounds.toml")
    assert (load_bounds("fp32").name, load_bounds("fp32").file) == ("fp32", "bounds/fp32.toml")
    file = tmp_path / "mine.toml"
    file.write_text(DEFAULT_BOUNDS.read_text().replace("0.501", "0.75"))
    mine = load_bounds(str(file))
    assert (mine.name, mine.ulp, mine.file) == (str(file), 0.75, f"{tmp_path.name}/mine.toml")
    assert mine.sha256 != load_bounds().sha256
    file.write_text(FP32_BOUNDS.read_text().replace("reserve = 3", "reserve = 5.5"))
    assert second_terms(case([0.0], [1.0], [1.0]), load_bounds(file)).output.item() == pytest.approx(
        (1 + 10 + 1 + 14) * 2.0**-24, rel=1e-12, abs=0.0
    )


DEFAULT, FP32 = DEFAULT_BOUNDS.read_text(), FP32_BOUNDS.read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = ", "is no TOML: Invalid value (at end of document)"),
        ("", "has nothing at its top, wanted one table, [default] or [fp32]"),
        ("[other]", "has other at its top, wanted one table"),
        (DEFAULT + FP32, "has default, fp32 at its top"),
        ("default = 3", "default is 3, wanted a table"),
        (DEFAULT.replace("ulp = 0.501", ""), "ulp is missing from [default]"),
        (DEFAULT + "more = 1", "[default] has an unknown more; it holds ulp, unit_roundoff_log2"),
        (DEFAULT + "name = 'x'", "[default] has an unknown name"),
        (DEFAULT.replace("0.501", "true"), "ulp in [default] is True, wanted a finite number, at least 0"),
        (DEFAULT.replace("0.501", "nan"), "ulp in [default] is nan"),
        (DEFAULT.replace("0.501", "inf"), "ulp in [default] is inf"),
        (DEFAULT.replace("0.501", "-0.5"), "ulp in [default] is -0.5"),
        (DEFAULT.replace("-53", "-53.0"), "unit_roundoff_log2 in [default] is -53.0, wanted a whole number"),
        (DEFAULT.replace("-53", "53"), "unit_roundoff_log2 in [default] is 53"),
        (DEFAULT.replace("-53", "-5300"), "unit_roundoff_log2 in [default] is -5300"),
        (FP32.replace("[fp32.backends.hip]", "[fp32.backends.rocm]"), "hip is missing from [fp32.backends]"),
        (FP32 + "[fp32.backends.xpu]", "[fp32.backends] has an unknown xpu; it holds cuda, hip, cpu"),
        (FP32 + "exp3 = 1", "[fp32.backends.cpu] has an unknown exp3; it holds exp2, log2, division"),
        (
            FP32.replace("log2 = 2.2", "log2 = 'x'"),
            "log2 in [fp32.backends.cpu] is 'x', wanted a finite number",
        ),
    ],
)
def test_a_bad_file_is_named_in_one_line(tmp_path, text, complaint):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"^\S*bad\.toml") as caught:
        load_bounds(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named_in_one_line(tmp_path):
    for place, reason in ((tmp_path / "nosuch", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ValueError, match=f"neither default nor fp32 nor a file .*{reason}"):
            load_bounds(place)
    (tmp_path / "latin").write_bytes(b"\xff = 1")
    with pytest.raises(ValueError, match="is no TOML"):
        load_bounds(tmp_path / "latin")
