"""On a GPU the laws choose the same variants, and the kernel keeps them."""

import pytest
import torch

from verify.laws import LAWS
from verify.laws.tests.trials import HONEST, drawn, ordinary, trial_of, variants

TENSORS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("law", LAWS)
def test_a_gpu_gets_the_variants_of_the_cpu(law):
    for case in [drawn(number) for number in range(0, 60, 7)] + [ordinary(dtype="float8_e4m3fn")]:
        here, there = variants(law, case), variants(law, case.to("cuda"))
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            for name in TENSORS:
                cpu, gpu = getattr(one, name), getattr(other, name)
                assert gpu.is_cuda
                assert gpu.stride() == cpu.stride()
                torch.testing.assert_close(gpu.cpu(), cpu, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("law", LAWS)
def test_the_kernel_keeps_the_laws_on_a_gpu(law):
    from mla_merge import merge_mla_segments_triton  # noqa: PLC0415

    cases = [drawn(number).to("cuda") for number in range(0, 340, 3)]
    cases += [ordinary(tokens=300, heads=16, rank=512, seed=seed).to("cuda") for seed in range(3)]
    rows = 0
    for number, case in enumerate(cases):
        found = LAWS[law].check(trial_of(merge_mla_segments_triton, case, seed=number))
        assert found.faults == (), (number, case.recipe)
        rows += found.rows
    assert rows > 100


def test_an_honest_merge_breaks_no_law_on_a_gpu():
    for number in range(1, 60, 4):
        trial = trial_of(HONEST, drawn(number).to("cuda"), seed=number)
        for law in LAWS.values():
            assert law.check(trial).faults == ()
