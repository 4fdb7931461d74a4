"""What a kernel declares: sets of sizes, names, and the cases that are outside."""

import re
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
import torch

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS
from verify.laws import LAWS
from verify.subjects import supports
from verify.subjects.capabilities import Capabilities, capabilities_of
from verify.subjects.load import SubjectError, load_subject
from verify.subjects.sizes import numbers


def case(tokens=2, heads=3, segments=4, rank=5, tile_size=6, dtype="float32"):
    return MergeCase(
        segm_output=torch.zeros(tokens, heads, segments, rank),
        segm_max=torch.zeros(tokens, heads, segments),
        segm_expsum=torch.ones(tokens, heads, segments),
        seq_lens=torch.ones(tokens, dtype=torch.int32),
        tile_size=tile_size,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("any", range(20)),
        ("7", [7]),
        ("3..6", [3, 4, 5, 6]),
        ("15..", range(15, 20)),
        ("pow2 2..16", [2, 4, 8, 16]),
        ("pow2 0..", [1, 2, 4, 8, 16]),
        ("odd 1..9", [1, 3, 5, 7, 9]),
        ("even 0..5", [0, 2, 4]),
        ("8,16, 1", [1, 8, 16]),
        ("pow2  4..8,odd 7..9 , 19", [4, 7, 8, 9, 19]),
    ],
)
def test_sets_of_numbers(text, members):
    assert [number for number in range(20) if number in numbers(text)] == list(members)


@pytest.mark.parametrize(
    "text", ["", "8,", "eight", "1-4", "4..2", "pow3 1..9", "-1", "1...4", "pow2", "any,8", "1.5", "..4"]
)
def test_what_is_no_set_is_refused(text):
    with pytest.raises(ValueError, match=r"is not N, |holds no number"):
        numbers(text)


def test_everything_is_supported_and_promised_by_default():
    assert capabilities_of({}) == Capabilities()
    for dtype in FORMATS:
        assert Capabilities().unsupported(case(dtype=dtype)) == ""
    assert Capabilities().unsupported(case(tokens=0, tile_size=2**31 - 1)) == ""
    assert Capabilities().laws == tuple(LAWS)
    assert not Capabilities().exact


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"S": "4"}, ""),
        ({"S": "pow2 8..128"}, "S outside pow2 8..128"),
        ({"R": "512,576"}, "R outside 512,576"),
        ({"H": "1..2"}, "H outside 1..2"),
        ({"T": "4.."}, "T outside 4.."),
        ({"tile": "pow2 1..128"}, "tile outside pow2 1..128"),
        ({"tile": 6}, ""),
        ({"S": [4, 8]}, ""),
        ({"S": [8, 16]}, "S outside 8,16"),
        ({"dtypes": "bfloat16, float16"}, "dtype outside bfloat16,float16"),
        ({"dtypes": ["bfloat16", "float32"]}, ""),
        ({"dtypes": "any"}, ""),
        ({"devices": "cuda"}, "device outside cuda"),
        ({"devices": "cuda,cpu"}, ""),
        ({"strides": "contiguous"}, ""),
        ({"S": "8", "R": "8", "dtypes": "float16"}, "S outside 8"),
    ],
)
def test_a_case_outside_has_a_reason(declared, reason):
    assert capabilities_of(declared).unsupported(case()) == reason


@pytest.mark.parametrize("field", ["segm_output", "segm_max", "segm_expsum", "seq_lens"])
def test_strides_are_those_of_every_input(field):
    here = case()
    strided = replace(here, **{field: torch.stack([getattr(here, field)] * 2, -1)[..., 0]})
    assert capabilities_of({"strides": "contiguous"}).unsupported(strided) == "strides not contiguous"
    assert capabilities_of({"strides": "any"}).unsupported(strided) == ""


def test_laws_and_exactness_are_declared():
    some = capabilities_of({"laws": "tail, repeat", "exact": True})
    assert some.laws == ("tail", "repeat")
    assert some.exact
    assert capabilities_of({"laws": "none"}).laws == ()
    assert capabilities_of({"laws": "all"}).laws == tuple(LAWS)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"Q": 1}, "Q is not known; there are S, R, H, T, tile, dtypes, strides, devices, laws, exact"),
        ({"S": "8..4"}, "S: '8..4' holds no number"),
        ({"S": 8.0}, "S: 8.0 is neither text nor whole numbers"),
        ({"S": True}, "S: True is neither"),
        ({"S": -8}, "S: '-8' is not N"),
        ({"dtypes": "fp16"}, "dtypes: there is no 'fp16' among float32, "),
        ({"dtypes": "none"}, "dtypes: there is no 'none'"),
        ({"devices": "tpu"}, "devices: there is no 'tpu' among cpu, cuda"),
        ({"laws": "gravity"}, "laws: there is no 'gravity' among repeat, "),
        ({"laws": ""}, "laws: there is no ''"),
        ({"strides": "dense"}, "strides: 'dense' is not any or contiguous"),
        ({"exact": "yes"}, "exact: 'yes' is neither true nor false"),
    ],
)
def test_a_bad_declaration_is_named(declared, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        capabilities_of(declared)


MERGES = """
from verify.subjects import supports

@supports(S="pow2 8..128", laws="none")
def decorated(*args): ...

@supports(laws="gravity")
def mistaken(*args): ...

def plain(*args): ...
"""


@pytest.fixture
def kernels(tmp_path):
    """A file of kernels, and a way to write the one beside it."""
    file = tmp_path / "kernels.py"
    file.write_text(MERGES)

    def load(function, toml=""):
        if toml:
            file.with_suffix(".toml").write_text(textwrap.dedent(toml))
        return load_subject(f"{file}:{function}").capabilities

    return load


def test_a_decorator_declares(kernels):
    assert kernels("decorated") == capabilities_of({"S": "pow2 8..128", "laws": "none"})
    assert kernels("plain") == Capabilities()


def test_a_decorated_merge_stays_what_it_was():
    def merge(x):
        return x

    assert supports(S=8)(merge) is merge


def test_a_file_beside_declares(kernels):
    toml = """
        [mla-verify.plain]
        R = 512
        exact = true
        """
    assert kernels("plain", toml) == capabilities_of({"R": 512, "exact": True})
    assert kernels("decorated") == capabilities_of({"S": "pow2 8..128", "laws": "none"})


def test_a_file_beside_may_be_about_something_else(kernels):
    assert kernels("plain", "[tool]\nx = 1") == Capabilities()


@pytest.mark.parametrize(
    ("function", "toml", "complaint"),
    [
        ("mistaken", "", "@supports of mistaken: laws: there is no 'gravity' among"),
        ("plain", "[mla-verify.plain]\nQ = 1", "[mla-verify.plain] in kernels.toml: Q is not known"),
        ("plain", "[mla-verify.plian]\nS = 1", "wanted tables [mla-verify.FUNCTION], and plian is none"),
        ("plain", "[mla-verify]\nplain = 1", "and plain is none"),
        ("plain", "mla-verify = 1", "and mla-verify is none"),
        ("plain", "[mla-verify", "kernels.toml: Expected"),
        (
            "decorated",
            "[mla-verify.decorated]\nS = 8",
            "it is declared twice, by @supports of decorated and by",
        ),
    ],
)
def test_a_bad_declaration_is_one_clear_line(kernels, function, toml, complaint):
    with pytest.raises(SubjectError) as caught:
        kernels(function, toml)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_project_s_own_kernel_promises_everything_bit_by_bit():
    for spec in ("mla_merge", "mla_merge:merge_mla_segments_triton"):
        assert load_subject(spec).capabilities == Capabilities(exact=True)


def test_the_baseline_declares_what_it_is_made_for():
    baseline = load_subject("baseline_fp32").capabilities
    assert not baseline.exact
    assert "empties" not in baseline.laws
    assert baseline.unsupported(case()) == ""
    assert baseline.unsupported(case(dtype="float8_e5m2")) == "dtype outside float32,float16,bfloat16"
    assert baseline.unsupported(case(segments=1025, rank=1)) == "S outside 1..1024"


def test_a_kernel_that_declares_needs_nothing_of_the_rest():
    check = (
        "import sys; from verify.subjects import supports; "
        "print(*sorted(n for n in sys.modules if n in ('torch', 'fuzz') or n.startswith('verify.')))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["verify.subjects", "verify.subjects.declare"]
