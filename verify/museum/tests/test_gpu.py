"""On a GPU: faults that need one are noticed, and kernels in Triton behave as in the interpreter."""

import subprocess
import sys

import pytest
import torch

from fuzz.case import MergeCase
from verify.judge import judge
from verify.museum.exhibit import Need
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.tests.noticing import BOUNDS, case_of, exact_of, recipes_for
from verify.observed import Returned
from verify.subjects.call import call_subject
from verify.subjects.load import load_subject
from verify.tests.acceptance import ACCEPTANCE, from_token, ordinary

pytestmark = pytest.mark.gpu

IN_TRITON = [e for e in EXHIBITS.values() if e.needs == (Need.TRITON,)]


def noticed(piece, case: MergeCase, exact, first: int = 0) -> set[str]:
    """Name what notices a kernel on a case of the GPU; `exact` is of its tokens from `first` on."""
    call = call_subject(load_subject(piece.path), case)
    if call.returned is None:
        return {fault.detector for fault in call.faults}
    part = {name: tensor[first:].cpu() for name, tensor in vars(call.returned).items()}
    looked_at = from_token(case, first).to("cpu")
    return {
        fault.detector for fault in (*call.faults, *judge(looked_at, Returned(**part), exact, BOUNDS).faults)
    }


@pytest.mark.parametrize("exhibit", IN_TRITON, ids=lambda exhibit: exhibit.name)
def test_a_fault_in_triton_is_noticed(exhibit):
    seen: set[str] = set()
    for recipe in recipes_for(exhibit):
        case, exact = case_of(recipe.to_json())
        seen |= noticed(exhibit, case.to("cuda"), exact)
        if seen & set(exhibit.detectors):
            break
    assert seen & set(exhibit.detectors)
    assert seen <= set(exhibit.detectors)


@pytest.mark.parametrize("acceptance", [a for a in ACCEPTANCE if not a.gpu], ids=lambda a: a.name)
def test_the_sound_kernels_pass(acceptance):
    case = acceptance.build()
    exact = exact_of(case)
    for sound in SOUND.values():
        if sound.bounds == "default" and case.outputs <= (sound.outputs or case.outputs):
            assert noticed(sound, case.to("cuda"), exact) == set(), sound.name


def far() -> tuple[MergeCase, int]:
    """Return a case whose tokens from the second result on lie past 2^31 elements of o."""
    far = next(a for a in ACCEPTANCE if a.name.startswith("A9"))
    return far.build(), far.judged_from


def test_offsets_into_the_values():
    case, first = far()
    exact = exact_of(from_token(case, first).to("cpu"))
    assert noticed(SOUND["in_order"], case, exact, first) == set()
    assert noticed(SOUND["triton_rows"], case, exact, first) == set()
    assert noticed(EXHIBITS["offsets_32_bit"], case, exact, first) == {"oracle"}


def test_offsets_into_the_output():
    shape = EXHIBITS["output_offsets_32_bit"].shape
    last = ordinary(2, shape["heads"], 1, shape["rank"], out_dtype="bfloat16", device="cuda")
    names = ("segm_output", "segm_max", "segm_expsum", "seq_lens")
    tokens = shape["tokens"]
    whole = {name: getattr(last, name)[torch.arange(tokens, device="cuda") % 2] for name in names}
    case = MergeCase(**{**vars(last), **whole})
    exact = exact_of(from_token(case, tokens - 2).to("cpu"))
    assert noticed(SOUND["in_order"], case, exact, tokens - 2) == set()
    assert noticed(EXHIBITS["output_offsets_32_bit"], case, exact, tokens - 2) & {"marker", "oracle"}


def test_offsets_in_triton():
    # In a process of its own: a read before the tensor may take the CUDA context along.
    script = (
        "from verify.museum.tests.test_gpu import EXHIBITS, exact_of, far, from_token, noticed\n"
        "case, first = far()\n"
        "exact = exact_of(from_token(case, first).to('cpu'))\n"
        "print('noticed', noticed(EXHIBITS['triton_offsets_32_bit'], case, exact, first))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    last = run.stdout.strip().splitlines()[-1:]
    assert run.returncode != 0 or (last and last[0] != "noticed set()"), run.stderr[-2000:]
    assert "SyntaxError" not in run.stderr
    assert "ImportError" not in run.stderr


def test_the_order_of_atomic_additions_is_another_one_each_time():
    exhibit = EXHIBITS["triton_atomic_sums"]
    case = ordinary(16, 64, 64, 512, device="cuda")
    arguments = (
        case.segm_output,
        case.segm_max,
        case.segm_expsum,
        case.seq_lens,
        case.tile_size,
        torch.float32,
    )
    results = [exhibit(*arguments)[0] for _ in range(8)]
    assert any(not torch.equal(results[0], result) for result in results[1:])
