"""A failing case in a file, and the command that shows it again."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from fuzz.case import MergeCase
from fuzz.files import save_case
from verify.observed import Fault
from verify.subjects.convention import SEGMENTS


def store(case: MergeCase, fault: Fault | None, folder: Path) -> Path:
    """Write a case to a file of the folder, named by fault and content; OSError if it fails.

    The same case has the same name, so that a test that fails every day leaves one file.
    """
    values = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
    digest = hashlib.sha256(f"{case.tile_size} {case.out_dtype} {case.layout}".encode())
    for value in values:
        digest.update(f"{value.dtype} {list(value.shape)}".encode())
        digest.update(value.detach().contiguous().cpu().numpy().tobytes())
    folder.mkdir(parents=True, exist_ok=True)
    kind = "passes" if fault is None else fault.kind.value
    file = folder / f"{kind}-{digest.hexdigest()[:10]}.safetensors"
    save_case(case, file)
    return file


def replay_command(
    file: Path,
    kernel: str,
    *,
    laws: Sequence[str],
    law_seed: int,
    bounds: str,
    device: str,
    convention: str,
) -> str:
    """Return the command that runs the case of a file again as it was run."""
    words = ["python", "-m", "verify.replay", str(file), "--kernel", kernel]
    words += ["--laws", ",".join(laws) or "none"]
    if laws:
        words += ["--law-seed", str(law_seed)]
    if bounds != "default":
        words += ["--bounds", bounds]
    if convention != SEGMENTS.name:
        words += ["--convention", convention]
    if device != "cpu":
        words += ["--device", device]
    return shlex.join(words)
