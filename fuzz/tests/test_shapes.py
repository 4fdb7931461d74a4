"""What holds for every family, and the promises about shapes and memory."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fuzz.families
from fuzz.case import Domain
from fuzz.draw import draw_recipe
from fuzz.families import DRAWN, FAMILIES, odd_shapes
from fuzz.families.layouts import EXPANDED
from fuzz.layouts import LAYOUTS
from fuzz.mutation import mutants_of
from fuzz.parameters import ROTATE, Choice, Flag
from fuzz.recipe import Recipe, expand
from fuzz.strategies import Size
from fuzz.tests.inspection import active, recipe

SMALL = Size(outputs=128, elements=4096)
FIELDS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")


def bits(case) -> list[torch.Tensor]:
    tensors = [getattr(case, field).contiguous() for field in FIELDS]
    return [tensor.view(torch.int32) if tensor.dtype == torch.float32 else tensor for tensor in tensors]


def digest(case) -> str:
    """Return a fingerprint of all values, little-endian."""
    total = hashlib.blake2b(digest_size=8)
    for tensor in bits(case):
        total.update(tensor.numpy().tobytes())
    return total.hexdigest()


def rotating(family: str) -> Recipe:
    """Return a recipe of a family that turns through all it can."""
    parameters = FAMILIES[family].parameters
    if family == "mutants":
        parent = expand(draw_recipe(4, 2, SMALL))
        return mutants_of(parent, (0, 0, 0), seed=11, tokens=6, heads=4, rank=6, strength=3)
    turning: dict[str, str | bool] = {}
    for name, parameter in parameters.items():
        if isinstance(parameter, Flag):
            turning[name] = True
        elif isinstance(parameter, Choice) and ROTATE in parameter.values:
            turning[name] = ROTATE
    return recipe(family, params=turning, tokens=6)


def test_each_family_is_the_module_of_its_name():
    folder = Path(fuzz.families.__file__).parent
    assert set(FAMILIES) == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family.promise.endswith(".")
        assert family.promise.count(". ") == 0
        assert (family.domain is Domain.PRODUCER) == (name == "producer")


@pytest.mark.parametrize("family", DRAWN)
def test_inactive_segments_hold_garbage(family):
    kinds = set()
    for number in range(list(DRAWN).index(family), 40 * len(DRAWN), len(DRAWN)):
        case = expand(draw_recipe(23, number, SMALL))
        assert case.recipe is not None
        assert case.recipe.family == family
        tail = ~active(case)
        m = case.segm_max[tail]
        kinds |= {"nan"} if bool(m.isnan().any()) else set()
        kinds |= {"inf"} if bool(m.isinf().any()) else set()
        kinds |= {"finite"} if bool(m.isfinite().any()) else set()
    assert kinds == {"nan", "inf", "finite"}


PINNED = {
    "producer": "c85260ddddf512b1",
    "empties": "670a3f8dad4ffcc9",
    "huge_ranges": "e2d7f977f4fabe99",
    "seq_lens": "c59ca07ca64b8c38",
    "neg_inf": "9c9c2f4be5854251",
    "cancellation": "df2768555e0e71b1",
    "subnormals": "cde34141d35b1418",
    "overflow": "41e0fb022fee0fb1",
    "ties": "554de448ca836415",
    "poisoned_tail": "a1f1155731f16508",
    "specials": "ada5fa7a0247567d",
    "layouts": "b4cb12760eb495de",
    "odd_shapes": "b4cb12760eb495de",
    "bit_patterns": "857cdd046cc0d5b3",
    "unit_mass": "8c4735fb88539bed",
    "constant": "5863ab5f1892f5c6",
    "clamped": "48f5fb48874cacea",
    "swamped": "23084157e1ce07c5",
    "lofty": "58b84f139f2e098c",
    "mutants": "98b4d419a0069763",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bits_are_those_that_every_machine_has_made(family):
    # Recorded once; a difference is a change of the family (write the new value down), or a library or
    # processor that makes other bits of the same recipe, which must not be.
    assert digest(expand(rotating(family))) == PINNED[family]


def test_expansion_does_not_depend_on_threads_processes_or_order(tmp_path):
    here = [digest(expand(draw_recipe(4, number))) for number in range(len(DRAWN))]
    script = (
        "import torch; torch.set_num_threads(1); torch.manual_seed(5); torch.rand(3)\n"
        "from fuzz.tests.test_shapes import *\n"
        "for n in reversed(range(len(DRAWN))): print(digest(expand(draw_recipe(4, n))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONHASHSEED": "99"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[::-1] == here


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_what_they_say_over_ordinary_values(layout):
    case = expand(recipe("layouts", params={"layout": layout}))
    assert case.layout == layout
    assert bool(case.segm_output[active(case)].isfinite().all())
    o = case.segm_output
    axis = EXPANDED.get(layout)
    if axis is not None:
        assert o.stride(axis) == 0
        assert torch.equal(o.narrow(axis, 0, 1).expand(o.shape), o)
    dense = o.is_contiguous() and o.storage_offset() == 0
    assert dense == (layout == "contiguous")
    assert (case.segm_max.is_contiguous() and case.segm_max.storage_offset() == 0) == (
        layout in ("contiguous", "expanded_rank", "rank_major")
    )


def test_odd_shapes_are_odd_in_what_a_kernel_is_compiled_for():
    heads = set()
    for number in range(list(DRAWN).index("odd_shapes"), 60 * len(DRAWN), len(DRAWN)):
        one = draw_recipe(1, number)
        assert any(size & (size - 1) for size in (one.segments, one.rank, one.tile_size))
        heads.add(one.heads)
    assert {65, 97} <= heads <= set(range(1, 128))
    assert {65, 97} <= set(odd_shapes.HEADS)


def test_the_largest_shapes_expand():
    case = expand(recipe("odd_shapes", tokens=1, heads=1, segments=257, rank=1024, tile_size=127))
    assert case.segm_output.shape == (1, 1, 257, 1024)
