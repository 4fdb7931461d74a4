"""`verify.assert_merge` on pairs, kernels and names: what passes, what fails, and what a failure says."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies
from hypothesis.errors import Unsatisfiable

import verify
import verify.replay.__main__ as replay
from fuzz.files import load_case
from fuzz.strategies import Size, merge_cases
from verify.museum.honest import reference_merge
from verify.subjects import supports
from verify.tests.judging import case

HONEST = "verify.museum.honest:reference_merge"
INPUTS = (
    torch.tensor([[[[2.0], [-1.0]]]]),
    torch.tensor([[[0.0, -1.0]]]),
    torch.tensor([[[1.0, 3.0]]]),
    torch.tensor([2], dtype=torch.int32),
    1,
    torch.float32,
)
"""y = (2 - 1/2) / (1 + 3/2) = 0.6, lse = ln 2.5."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(*arguments, **options):
    with pytest.raises(AssertionError) as raised:
        verify.assert_merge(*arguments, **options)
    return str(raised.value)


def shifted(*inputs):
    output, lse = reference_merge(*inputs)
    return output, lse * (1 + 2.0**-20)


def test_a_right_pair_passes():
    pair = reference_merge(*INPUTS)
    verify.assert_merge(pair, *INPUTS)
    verify.assert_merge(pair, *INPUTS[:-1])
    verify.assert_merge((torch.tensor([[[0.6]]]), torch.tensor([[2.5]]).log()), *INPUTS)


@pytest.mark.parametrize("kernel", [reference_merge, HONEST, partial(reference_merge)])
def test_a_right_kernel_passes(kernel):
    verify.assert_merge(kernel, *INPUTS)
    verify.assert_merge(kernel, case([0.0, -1.0], [1.0, 3.0], [2.0, -1.0]), laws=("repeat", "shift"))


def test_a_failure_says_all_there_is_to_know():
    text = said(shifted, *INPUTS)
    lines = text.splitlines()
    assert lines[0] == "1 fault of verify.testing.tests.test_asserting:shifted"
    assert lines[1] == "case T=1 H=1 S=2 R=1 tile=1 dtype=float32 layout=contiguous domain=stress"
    for line in (
        "WRONG_LSE noticed by oracle: lse is 0\\.91629\\d+ where 0\\.91629076 is right",
        "at    token 0, head 0",
        r"got   0\.91629\d+  0x1\.d52\w+p-1  0x3f6a92\w\w",
        r"exact 0\.91629076  0x1\.d52\w+p-1  0x3f6a92\w\w",
        r"error 1[45]\.\d+ ulp, 1[45] steps, bound 0\.501",
        r"proof in \[\d+, \d+\] · 2\^-\d+, proved with \d+ bits ≈ \[?0\.9162907318",
        "L 2: 2 of 2 segments active",
        r"1 +-1\.0 +3\.0 +0\.5 +60\.0000%  largest",
    ):
        assert re.search(line, text), (line, text)


def test_the_case_is_stored_and_the_command_replays_it(capsys):
    text = said(shifted, *INPUTS)
    command = shlex.split(text.splitlines()[-1])
    assert command[:4] == ["replay", "python", "-m", "verify.replay"]
    assert torch.equal(load_case(command[4]).segm_output, INPUTS[0])
    assert replay.main([*command[4:], "--isolate=off"]) == 1
    assert text.splitlines()[3] in capsys.readouterr().out
    assert said(shifted, *INPUTS) == text
    assert len(list(Path("out/asserted").iterdir())) == 1


def test_nothing_is_stored_where_that_is_not_wanted():
    assert "replay" not in said(shifted, *INPUTS, keep=None)
    assert not Path("out").exists()


def test_a_pair_is_judged_as_it_is():
    output, lse = reference_merge(*INPUTS)
    assert "output is nan where 0.6 is right" in said((output * torch.nan, lse), *INPUTS)
    assert "output has dtype torch.float64" in said((output.double(), lse), *INPUTS)
    assert "lse has shape [1]" in said((output, lse[0]), *INPUTS)
    assert "--kernel MODULE:FUNCTION" in said((output + 1, lse), *INPUTS)


@pytest.mark.parametrize(
    ("kind", "deed"),
    [
        ("TOUCHED_PADDING", lambda output, o: torch.as_strided(output, (1,), (1,), 1).fill_(7.0)),
        ("TOUCHED_INPUT", lambda output, o: o.fill_(0.0)),
    ],
)
def test_what_a_kernel_does_besides_is_a_fault(kind, deed):
    def merge(o, *rest):
        right, lse = reference_merge(o, *rest)
        output = torch.empty(right.shape, dtype=right.dtype)
        output.copy_(right)
        deed(output, o)
        return output, lse

    assert kind in said(merge, *INPUTS)


def test_an_exception_is_a_fault():
    def merge(*_):
        raise RuntimeError("no such shape")

    assert "the call raised RuntimeError: no such shape" in said(merge, *INPUTS)


def test_laws_are_checked_on_a_kernel_alone():
    calls = []

    def unsteady(*inputs):
        calls.append(1)
        output, lse = reference_merge(*inputs)
        return output, torch.nextafter(lse, lse + len(calls) % 2)

    assert "law repeat" in said(unsteady, *INPUTS, laws=("repeat",), bounds="fp32")
    with pytest.raises(ValueError, match="hand the kernel over"):
        verify.assert_merge(reference_merge(*INPUTS), *INPUTS, laws=("repeat",))


def test_the_bounds_are_those_that_are_named():
    single = case([0.0], [1.0], [1.0])

    def doubled(*inputs):
        output, lse = reference_merge(*inputs)
        return torch.nextafter(output, output + 1), lse

    assert "WRONG_VALUE" in said(doubled, single)
    verify.assert_merge(doubled, single, bounds="fp32")


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((HONEST, *INPUTS[:5]), {}, "5 arguments after the merge, wanted a MergeCase or segm_output, "),
        ((HONEST, None, *INPUTS[1:]), {}, "segm_output is NoneType, wanted a tensor"),
        ((HONEST, *INPUTS[:2], INPUTS[2][0], *INPUTS[3:]), {}, "segm_expsum has shape"),
        ((HONEST, *INPUTS), {"laws": ("nosuch",)}, "there is no 'nosuch' among"),
        ((HONEST, *INPUTS), {"convention": "nosuch"}, "there is no 'nosuch' among segments"),
        ((HONEST, *INPUTS), {"bounds": "nosuch.toml"}, "nosuch.toml is neither"),
        (("nosuch:thing", *INPUTS), {}, "importing nosuch failed"),
        (((None, None), *INPUTS[:5]), {}, "out_dtype is 'None'"),
    ],
)
def test_what_is_no_merge_is_one_line(arguments, options, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)) as raised:
        verify.assert_merge(*arguments, **options)
    assert not isinstance(raised.value, AssertionError)
    assert len(str(raised.value).splitlines()) == 1


SMALL = merge_cases(("producer", "empties"), ("float32", "bfloat16"), Size(outputs=64, elements=1024))
FEW = settings(max_examples=10, deadline=None, database=None, derandomize=True)


@FEW
@given(SMALL)
def test_hypothesis_hands_over_its_cases(case):
    verify.assert_merge(reference_merge, case, keep=None)


def test_a_case_that_is_not_supported_is_no_pass():
    @supports(S="4096")
    def merge(*inputs):
        return reference_merge(*inputs)

    assert said(merge, *INPUTS) == "nothing was judged: in_this_process:merge declares S outside 4096"

    @settings(FEW, suppress_health_check=list(HealthCheck))
    @given(strategies.just(case([0.0], [1.0], [1.0])))
    def test(case):
        verify.assert_merge(merge, case)

    with pytest.raises(Unsatisfiable):
        test()


def test_a_subnormal_is_judged_where_the_process_flushes_them():
    tiny = (torch.full((1, 1, 1, 1), 2.0**-140), torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    inputs = (*tiny, torch.ones(1, dtype=torch.int32), 1, torch.float32)
    torch.set_flush_denormal(True)
    try:
        assert "output is 0.0 where 7.17e-43 is right" in said(
            lambda *i: (i[0][:, :, 0] * 1, i[1][..., 0]), *inputs
        )
        assert float(torch.tensor(2.0**-126) * 0.5) == 0.0
    finally:
        torch.set_flush_denormal(False)
