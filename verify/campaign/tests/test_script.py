"""The script of a finding, run as its reader would run it."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from verify.campaign.script import script_of
from verify.observed import Fault, FaultKind
from verify.tests.acceptance import rows

FAULT = Fault(
    kind=FaultKind.SPURIOUS_NAN,
    detector="oracle",
    message='output is "nan" where 0.0 is right',
    result="output",
    where=(0, 0, 0),
    got=float("nan"),
    exact=0.0,
)


def run(text, tmp_path):
    file = tmp_path / "finding.py"
    file.write_text(text)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


@pytest.mark.parametrize("lengths", [torch.int32, torch.int64])
def test_a_script_calls_the_kernel_with_the_bits_of_the_case(kernel, tmp_path, lengths):
    case = rows(m=[[-1.5, float("nan")]], s=[[-0.0, 2.0]], o=[[[1e-45], [float("-inf")]]])
    case = replace(case, seq_lens=case.seq_lens.to(lengths))
    spec = kernel(
        "def merge(o, m, s, lengths, tile, dtype):\n"
        "    seen = [x.contiguous().view(torch.int32).flatten().tolist() for x in (o, m, s)]\n"
        "    print(seen, lengths, tile, dtype)\n    return o[:, :, 0], m[:, :, 0]\n"
    )
    text = script_of(case, FAULT, spec, "cpu")
    assert text is not None
    out = run(text, tmp_path)
    tensors = (case.segm_output, case.segm_max, case.segm_expsum)
    seen = [tensor.contiguous().view(torch.int32).flatten().tolist() for tensor in tensors]
    assert out.startswith(f"{seen} {case.seq_lens} {case.tile_size} torch.{case.out_dtype}")
    assert "the output at [0, 0, 0]: output is" in out
    assert "right: 0.0 = 0x0.0p+0" in out


def test_a_named_kernel_is_imported_and_needs_nothing_of_the_suite(tmp_path):
    case = rows(m=[[0.0, 1.0]], s=[[1.0, 1.0]], o=[[[1.0], [3.0]]])
    text = script_of(case, FAULT, "mla_merge", "cpu")
    assert text is not None
    assert "verify" not in text
    assert "2.3333" in run(text, tmp_path)


def test_what_a_script_cannot_hold_has_none():
    large = next(
        case for case in (expand(draw_recipe(0, n)) for n in range(400)) if case.segm_output.numel() > 1 << 16
    )
    assert script_of(large, FAULT, "mla_merge", "cpu") is None
    strided = replace(rows(m=[[0.0]], s=[[1.0]], o=[[[1.0]]]), layout="sliced")
    assert script_of(strided, FAULT, "mla_merge", "cpu") is None
