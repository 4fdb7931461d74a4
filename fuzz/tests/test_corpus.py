"""The corpus: its files are the cases that known.py describes, and a hostile one stops nothing."""

import math
import os
import re
import shutil
import struct
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from fuzz.case import MergeCase
from fuzz.corpus import FOLDER, MAX_FILE, corpus_files, load_corpus
from fuzz.corpus.known import NARROW, known, main
from fuzz.files import save_case
from fuzz.formats import FORMATS, round_to, ulp
from fuzz.tests.inspection import empty, live, quotients
from fuzz.tests.test_files import assert_same

ACCEPTANCE = {"a1", "a2", "a3", "a4", "a5", "a6", "a8", "a10", "a11", "a13", "a14", "a15", "a16"}
WEAKNESSES = {"w1", "w2", "w3", "w5", "w7", "w9"}  # 4 and 6 are a14 and a15, 8 is a16

KNOWN = dict(known())


def test_the_files_are_the_cases_that_are_described(tmp_path):
    main([str(tmp_path)])
    written = corpus_files(tmp_path)
    assert [path.stem for path in written] == sorted(KNOWN)
    assert len(KNOWN) == len(list(known()))
    for path in written:
        assert (FOLDER / path.name).read_bytes() == path.read_bytes(), path.name
    cases = dict(load_corpus())
    assert list(cases) == sorted(cases)
    for name, case in KNOWN.items():
        assert_same(cases[name], case)


def test_every_file_of_the_corpus_loads_and_says_what_it_is():
    files = corpus_files()
    assert len(files) >= len(KNOWN)
    for path in files:
        assert path.stat().st_size < MAX_FILE // 8
    for name, case in load_corpus():
        assert isinstance(case, MergeCase), case
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
    assert {name.split("-")[0] for name in KNOWN} == ACCEPTANCE | WEAKNESSES


def test_overflow_cases_lie_about_the_edge_of_their_format():
    for dtype in ("float16", "bfloat16", *NARROW):
        fmt = FORMATS[dtype]
        name = next(
            name for name, case in KNOWN.items() if name.startswith("a6-overflow") and case.out_dtype == dtype
        )
        case = replace(KNOWN[name], segm_output=KNOWN[name].segm_output[..., :7].contiguous())
        found = [quotients(case)[0, 0, r] for r in range(7)]
        largest = Fraction(fmt.max_value)
        tie = largest + ulp(largest, fmt) / 2
        beyond = fmt.max_value if fmt.saturates else math.inf
        assert found[2] == tie == -found[5]
        assert found[0] < largest < found[1] < tie < found[3] < found[4]
        wanted = [fmt.max_value, fmt.max_value, beyond, beyond, beyond, -beyond, -beyond]
        assert [round_to(value, fmt) for value in found] == wanted
        assert bool(KNOWN[name].segm_output[..., 7].isnan().all())
    acceptance = quotients(replace(KNOWN["a6-acceptance-e4m3fn"], segm_output=torch.zeros(1, 1, 1, 6)))
    assert set(acceptance.values()) == {0}
    assert KNOWN["a6-acceptance-e4m3fn"].segm_output.flatten().tolist()[:5] == [447, 464, 465, 1000, -1000]


def test_cases_are_what_their_names_say():
    assert empty(KNOWN["a1-all-segments-empty"])[:, 0].all(dim=-1).tolist() == [False, True, False]
    assert empty(KNOWN["w1-two-empty-segments"]).all()
    assert empty(KNOWN["a11-phantom-above-f32"]).flatten().tolist() == [True, False]
    assert KNOWN["a3-no-key-over-leftovers"].active.tolist() == [2, 0]
    assert KNOWN["a10-one-active-segment-beside-four"].active.tolist() == [1, 4]
    assert KNOWN["a15-longest-int32-length"].active.tolist() == [128]
    far = KNOWN["a15-length-beyond-float32"]
    assert far.seq_lens.float().unique().numel() == 1
    assert far.active.tolist() == [128, 97]
    for name, group, active in (("nothing", 2**32, [1, 1, 2]), ("below-zero", 2**33 - 4, [1, 1, 1])):
        case = KNOWN[f"a15-tiles-of-all-segments-wrap-to-{name}"]
        assert case.S * case.tile_size == group
        assert case.active.tolist() == active
    for name, rest in (
        ("a13-log-cancels", -10),
        ("w5-log-cancels-below-zero", -20),
        ("w5-log-cancels-at-the-smallest", -23),
    ):
        m, s = float(KNOWN[name].segm_max), float(KNOWN[name].segm_expsum)
        assert Fraction(s) * Fraction(2) ** int(m) == 1 + Fraction(2) ** rest
    near = KNOWN["a5-five-percent-apart-f32"].segm_max.flatten().tolist()
    assert [float(value) for value in torch.tensor([20 / math.log(2), 20.05 / math.log(2)])] == near
    assert sum(KNOWN["a14-numerator-beyond-float32-f32"].segm_output.flatten().tolist()) > 3.41e38
    assert sum(KNOWN["a14-mass-beyond-float32"].segm_expsum.flatten().tolist()) > 3.41e38
    shapes = [case for name, case in KNOWN.items() if name.startswith("a16")]
    assert {24, 65, 130} <= {case.S for case in shapes}
    assert {1, 80, 448, 576} <= {case.R for case in shapes}
    assert {65, 97} <= {case.H for case in shapes}
    for case in shapes:
        assert bool(live(case).all())
        assert bool((case.segm_output.abs() <= case.segm_expsum[..., None]).all())
    for dtype in NARROW:
        assert {case.out_dtype for name, case in KNOWN.items() if name.startswith("w9")} >= {dtype}


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Return a corpus of one good file."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    save_case(KNOWN["a4-base-of-lse"], folder / "good.safetensors")
    return folder


def complaint(folder, name: str) -> str:
    """Return what is said of a file, and check that the good one loads beside it."""
    found = dict(load_corpus(folder))
    assert isinstance(found["good"], MergeCase)
    text = str(found[name])
    assert isinstance(found[name], ValueError)
    assert text.isprintable()
    assert len(text) < 1000
    return text


def test_broken_files_are_one_line_each_and_the_rest_loads(folder):
    good = (folder / "good.safetensors").read_bytes()
    (folder / "short.safetensors").write_bytes(good[:-1])
    (folder / "empty.safetensors").write_bytes(b"")
    (folder / "bomb.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    (folder / "folder.safetensors").mkdir()
    os.mkfifo(folder / "pipe.safetensors")
    (folder / "notes.txt").write_text("no case")
    (folder / "huge.safetensors").write_bytes(good + b"\0" * MAX_FILE)
    assert [path.stem for path in corpus_files(folder)] == sorted(
        ["good", "short", "empty", "bomb", "folder", "pipe", "huge"]
    )
    for name, words in (("folder", "not a file"), ("pipe", "not a file"), ("huge", "bytes, at most 1048576")):
        assert words in complaint(folder, name)
    for name in ("short", "empty", "bomb"):
        assert complaint(folder, name).startswith(str(folder / name))


def test_links_out_of_the_folder_and_dead_ones_are_refused(folder, tmp_path):
    shutil.copy(folder / "good.safetensors", tmp_path / "outside.safetensors")
    (folder / "out.safetensors").symlink_to(tmp_path / "outside.safetensors")
    (folder / "dead.safetensors").symlink_to(folder / "absent")
    (folder / "loop.safetensors").symlink_to(folder / "loop.safetensors")
    (folder / "inside.safetensors").symlink_to(folder / "good.safetensors")
    assert "a link to a file outside the corpus" in complaint(folder, "out")
    assert "No such file" in complaint(folder, "dead")
    assert "loop" in complaint(folder, "loop")
    assert isinstance(dict(load_corpus(folder))["inside"], MergeCase)
    elsewhere = tmp_path / "link"
    elsewhere.symlink_to(folder)
    assert isinstance(dict(load_corpus(elsewhere))["good"], MergeCase)


def test_shapes_that_no_minimal_case_has_are_refused(folder):
    case = KNOWN["a4-base-of-lse"]
    for name, shape in (
        ("wide", (0, 1 << 17, 1, 1)),
        ("deep", (0, 1, 1 << 40, 1)),
        ("long", (1, 300, 1, 300)),
    ):
        save_case(
            replace(
                case,
                segm_output=torch.zeros(shape),
                segm_max=torch.zeros(shape[:3]),
                segm_expsum=torch.zeros(shape[:3]),
                seq_lens=torch.zeros(shape[0], dtype=torch.int32),
            ),
            folder / f"{name}.safetensors",
        )
        assert f"H = {shape[1]}, S = {shape[2]}" in complaint(folder, name)


def test_names_that_would_spoil_a_line_are_refused(folder):
    for name in ("two\nlines", "esc\x1b[2J", "a b", "ünder"):
        shutil.copy(folder / "good.safetensors", folder / f"{name}.safetensors")
        assert "letters, digits, dots, dashes and underscores" in complaint(folder, name)


def test_no_folder_is_no_corpus(tmp_path):
    assert load_corpus(tmp_path / "absent") == ()
