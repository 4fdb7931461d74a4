"""Every fault of the museum is noticed on the inputs that its label names, by a detector that it names."""

import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from verify.museum.exhibit import DETECTORS, Need, Wing
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.tests.noticing import faults_of, recipes_for
from verify.subjects.load import load_subject

FIELD_THREADS = re.compile(r"[A-Za-z][\w.-]*(/[\w.-]+)?#\d+")
HERE = [e for e in EXHIBITS.values() if not e.ends_process and Need.GPU not in e.needs]
NOT_LAWS_ALONE = [e for e in HERE if any(not d.startswith("law ") for d in e.detectors)]


def test_every_class_of_faults_is_shown():
    wings = Counter(exhibit.wing for exhibit in EXHIBITS.values())
    assert set(wings) == set(Wing)
    assert min(wings.values()) >= 4
    assert len(EXHIBITS) >= 60
    assert sum(Need.TRITON in exhibit.needs for exhibit in EXHIBITS.values()) >= 8
    assert sum(Need.GPU in exhibit.needs for exhibit in EXHIBITS.values()) >= 3
    assert len(SOUND) >= 8
    assert any(exhibit.shape.get("segments", 0) > 64 for exhibit in EXHIBITS.values())
    assert any(exhibit.shape.get("rank", 0) % 2 for exhibit in EXHIBITS.values())
    assert any(len(exhibit.dtypes) == 1 for exhibit in EXHIBITS.values())


@pytest.mark.parametrize("detector", DETECTORS)
def test_every_detector_has_an_exhibit(detector):
    assert any(detector in exhibit.detectors for exhibit in EXHIBITS.values())


def test_labels_are_complete_and_say_one_thing_each():
    pieces = [*EXHIBITS.values(), *SOUND.values()]
    sentences = [piece.sentence for piece in pieces]
    assert len(set(sentences)) == len(pieces)
    for piece in pieces:
        assert re.fullmatch(r"[A-Z][^.]*(\.\d[^.]*)*\.", piece.sentence), piece.sentence
        subject = load_subject(piece.path)
        assert subject.merge is piece
        assert subject.source_sha256
    for exhibit in EXHIBITS.values():
        assert exhibit.detectors
        assert set(exhibit.detectors) <= set(DETECTORS)
        assert len(set(exhibit.detectors)) == len(exhibit.detectors)
        assert exhibit.families
        assert set(exhibit.families) <= set(FAMILIES)
        assert set(exhibit.dtypes) <= set(FORMATS)
        assert not exhibit.thread or FIELD_THREADS.fullmatch(exhibit.thread)


def test_nothing_in_a_module_is_hidden_by_another_of_its_name():
    folder = Path(__file__).resolve().parents[1]
    shown = [
        name
        for file in folder.glob("*.py")
        for name in re.findall(r"^(\w+) = (?:_?[Ee]xhibit|Sound)\(", file.read_text(), flags=re.MULTILINE)
    ]
    assert Counter(shown) == Counter([*EXHIBITS, *SOUND])


@pytest.mark.parametrize("exhibit", NOT_LAWS_ALONE, ids=lambda exhibit: exhibit.name)
def test_a_fault_is_noticed_by_what_its_label_says(exhibit):
    wanted = [detector for detector in exhibit.detectors if not detector.startswith("law ")]
    noticed = set()
    for recipe in recipes_for(exhibit):
        noticed |= {fault.detector for fault in faults_of(exhibit, recipe)[1]}
        if wanted[0] in noticed:
            break
    assert wanted[0] in noticed
    assert noticed <= set(wanted)


@pytest.mark.parametrize(
    ("name", "code", "patience"),
    [
        ("exits_without_keys", 7, 120),
        ("reads_address_zero", -signal.SIGSEGV, 120),
        ("hangs_on_a_ragged_tile", -signal.SIGALRM, 5),
    ],
)
def test_a_process_fault_takes_the_process_along(name, code, patience):
    script = (
        "import signal\n"
        "from verify.museum.registry import EXHIBITS\n"
        "from verify.museum.tests.noticing import faults_of, recipes_for\n"
        f"exhibit = EXHIBITS[{name!r}]\n"
        f"signal.alarm({patience})\n"
        "for recipe in recipes_for(exhibit):\n"
        "    faults_of(exhibit, recipe)\n"
    )
    assert EXHIBITS[name].ends_process
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == code


def test_the_law_exhibits_keep_every_bound():
    alone = [e for e in HERE if all(d.startswith("law ") for d in e.detectors)]
    assert len(alone) >= 5
    for exhibit in alone:
        for recipe in list(recipes_for(exhibit))[:6]:
            assert faults_of(exhibit, recipe)[1] == (), exhibit.name


def test_an_exhibit_is_called_as_its_kernel():
    exhibit = EXHIBITS["zeroed"]
    lengths = torch.ones(1, dtype=torch.int32)
    statistics = torch.zeros(1, 1, 1), torch.ones(1, 1, 1)
    output, lse = exhibit(torch.ones(1, 1, 1, 2), *statistics, lengths, 1, torch.float16)
    assert output.tolist() == [[[0.0, 0.0]]]
    assert lse.tolist() == [[0.0]]
