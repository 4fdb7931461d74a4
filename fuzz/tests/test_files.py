"""Case files: what is kept, and that nothing in a file is trusted."""

import json
import struct
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.files import load_case, save_case
from fuzz.layouts import LAYOUTS
from fuzz.recipe import expand
from fuzz.tests.inspection import recipe

FIELDS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")
RECORD = {
    "schema": "mla-merge-case/1",
    "tile_size": 4,
    "out_dtype": "bfloat16",
    "domain": "stress",
    "layout": "contiguous",
    "recipe": None,
}


def bits(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.contiguous()
    return dense.view(torch.int32) if dense.dtype == torch.float32 else dense


def assert_same(one, other):
    for field in FIELDS:
        first, second = getattr(one, field), getattr(other, field)
        assert torch.equal(bits(first), bits(second))
        assert first.dtype == second.dtype
        assert (first.stride(), first.storage_offset()) == (second.stride(), second.storage_offset())
    for field in ("tile_size", "out_dtype", "domain", "layout", "recipe"):
        assert getattr(one, field) == getattr(other, field)


def test_every_family_comes_back_bit_for_bit(tmp_path):
    for number in range(len(DRAWN)):
        case = expand(draw_recipe(2, number))
        save_case(case, tmp_path / "case.safetensors")
        assert_same(load_case(tmp_path / "case.safetensors"), case)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_come_back(tmp_path, layout):
    case = expand(recipe("layouts", params={"layout": layout}))
    save_case(case, tmp_path / "case")
    assert_same(load_case(tmp_path / "case"), case)


def test_a_case_without_recipe_tokens_or_heads(tmp_path):
    case = expand(recipe("seq_lens", params={"width": "int64"}))
    none = replace(case, recipe=None, **{field: getattr(case, field)[:0] for field in FIELDS})
    save_case(none, tmp_path / "none")
    assert_same(load_case(tmp_path / "none"), none)


def test_equal_cases_give_equal_bytes_and_no_other_file_stays(tmp_path):
    for name in ("one", "two"):
        save_case(expand(recipe("ties")), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    with pytest.raises(OSError, match="No such file"):
        save_case(expand(recipe("ties")), tmp_path / "nowhere" / "case")


def complaint_about(path) -> str | None:
    try:
        load_case(path)
    except ValueError as error:
        return str(error)
    return None


def refused(path) -> str:
    text = complaint_about(path)
    assert text is not None
    assert text.startswith(str(path))
    assert "\n" not in text
    assert len(text) < 1000
    return text


def test_every_truncation_is_refused(tmp_path):
    save_case(expand(recipe("empties", tokens=1, heads=1, segments=2, rank=1)), tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    part = tmp_path / "part"
    for length in range(len(data)):
        part.write_bytes(data[:length])
        refused(part)
    part.write_bytes(data + b"\0")
    refused(part)


def test_no_changed_byte_of_the_header_does_anything_but_load_or_be_refused(tmp_path):
    save_case(expand(recipe("empties", tokens=1, heads=1, segments=2, rank=1)), tmp_path / "whole")
    data = bytearray((tmp_path / "whole").read_bytes())
    header = 8 + struct.unpack("<Q", data[:8])[0]
    part = tmp_path / "part"
    survived = 0
    for place in range(header):
        for change in (0x01, 0x80):
            data[place] ^= change
            part.write_bytes(data)
            data[place] ^= change
            if complaint_about(part) is None:
                survived += 1
            else:
                refused(part)
    assert survived < header / 4  # digits of the seed, mostly


def tensors(**changes):
    plain = {
        "segm_output": torch.zeros(1, 2, 3, 4),
        "segm_max": torch.zeros(1, 2, 3),
        "segm_expsum": torch.zeros(1, 2, 3),
        "seq_lens": torch.zeros(1, dtype=torch.int32),
    }
    return {name: tensor for name, tensor in {**plain, **changes}.items() if tensor is not None}


def packed(changes) -> dict[str, str]:
    return {"case": json.dumps({**RECORD, **changes})}


@pytest.mark.parametrize(
    ("changes", "metadata", "complaint"),
    [
        ({}, {"schema": "other/1"}, "schema is 'other/1', 'mla-merge-case/1' is wanted"),
        ({}, {"tile_size": 4.0}, "tile_size is 4.0, an integer is wanted"),
        ({}, {"tile_size": True}, "tile_size is True, an integer is wanted"),
        ({}, {"tile_size": 0}, "tile_size is 0"),
        ({}, {"tile_size": 10**400}, "tile_size is 1000"),
        ({}, {"out_dtype": "float7"}, "out_dtype is 'float7'"),
        ({}, {"out_dtype": ["float32"]}, r"out_dtype is \['float32'\]"),
        ({}, {"domain": "produce"}, "domain is 'produce'"),
        ({}, {"layout": "__import__"}, "layout is '__import__'"),
        ({}, {"layout": "x" * 100000}, "layout is 'xxx"),
        ({}, {"recipe": {}}, "the recipe lacks family"),
        ({}, {"recipe": [1]}, "the recipe is a JSON list"),
        ({}, {"family": "empties"}, "unknown case field 'family'"),
        ({}, {"y" * 100000: "empties"}, "unknown case field 'yyy"),
        ({"segm_max": None}, {}, "holds the tensors segm_expsum, segm_output, seq_lens"),
        ({"more": torch.zeros(1)}, {}, "holds the tensors more"),
        ({"segm_max": torch.zeros(1, 2, 3, dtype=torch.float64)}, {}, "segm_max is F64 of 3 dimensions"),
        ({"segm_output": torch.zeros(1, 2, 3)}, {}, "segm_output is F32 of 3 dimensions"),
        ({"seq_lens": torch.zeros(1, dtype=torch.uint8)}, {}, "seq_lens is U8"),
        ({"segm_max": torch.zeros(1, 2, 4)}, {}, r"segm_max has shape \[1, 2, 4\]"),
        ({"segm_output": torch.zeros(1, 2, 3, 0)}, {}, "R = 0"),
        ({"segm_max": torch.arange(6.0).reshape(1, 2, 3)}, {"layout": "expanded_heads"}, "values differ"),
    ],
)
def test_hostile_content_is_refused_with_the_reason(tmp_path, changes, metadata, complaint):
    path = tmp_path / "hostile"
    save_file(tensors(**changes), path, packed(metadata))
    if "layout" in metadata and "expanded" in metadata["layout"]:
        # the plain tensors beside the differing one are constant, so only it can be at fault
        save_file(tensors(), tmp_path / "fine", packed(metadata))
        assert load_case(tmp_path / "fine").segm_output.stride(1) == 0
    text = refused(path)
    with pytest.raises(ValueError, match=complaint):
        raise ValueError(text)


def test_what_is_no_file_is_refused(tmp_path):
    assert "no such file" in refused(tmp_path / "absent")
    assert "not a file" in refused(tmp_path)
    (tmp_path / "bare").write_bytes(b"")
    refused(tmp_path / "bare")
    (tmp_path / "bomb").write_bytes(struct.pack("<Q", 2**63) + b"{}")
    refused(tmp_path / "bomb")


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        (None, "no entry 'case'"),
        ({"case": "{}", "more": ""}, "or others beside it"),
        ({"case": "[" * 100000}, "the case is not JSON"),
        ({"case": "3"}, "the case is a JSON int"),
        ({"case": '{"schema": NaN}'}, "schema is nan"),
    ],
)
def test_metadata_of_other_kinds_is_refused(tmp_path, metadata, complaint):
    save_file(tensors(), tmp_path / "other", metadata)
    assert complaint in refused(tmp_path / "other")


def test_a_missing_field_is_named(tmp_path):
    for name in RECORD:
        if name != "schema":
            rest = {key: value for key, value in RECORD.items() if key != name}
            save_file(tensors(), tmp_path / "lacking", {"case": json.dumps(rest)})
            assert f"the case lacks {name}" in refused(tmp_path / "lacking")
