"""Registers and spilled memory of a compiled kernel."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What one thread (a lane on AMD) takes."""

    registers: int | None
    """32-bit registers; vector registers on AMD. None where the tool that tells is not there."""
    spilled_bytes: int | None
    """Local memory: what did not fit into registers, in a kernel without arrays. None likewise."""
    scalars_kept_aside: int = 0
    """AMD: scalar registers that were moved to lanes of vector registers, which costs no memory."""


def resources_of(folder: Path, name: str) -> Resources:
    """Read the resources of a kernel from its assembly (AMD) or its binary (NVIDIA)."""
    assembly = folder / f"{name}.amdgcn"
    if assembly.is_file():
        text = assembly.read_text()
        return Resources(
            registers=_number(r"\.vgpr_count: *(\d+)", text),
            spilled_bytes=_number(r"\.private_segment_fixed_size: *(\d+)", text),
            scalars_kept_aside=_number(r"\.sgpr_spill_count: *(\d+)", text) or 0,
        )
    tool = _cuobjdump()
    binary = folder / f"{name}.cubin"
    if tool is None or not binary.is_file():
        return Resources(registers=None, spilled_bytes=None)
    done = subprocess.run([tool, "-res-usage", binary], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return Resources(registers=_number(r"REG:(\d+)", said), spilled_bytes=_number(r"STACK:(\d+)", said))


def _number(pattern: str, text: str) -> int | None:
    """Return the largest number that the pattern finds: a binary may hold several functions."""
    found = [int(number) for number in re.findall(pattern, text)]
    return max(found) if found else None


def _cuobjdump() -> Path | None:
    """Return the disassembler that Triton brings."""
    spec = find_spec("triton")  # found, not imported
    if spec is None or spec.origin is None:
        return None
    tool = Path(spec.origin).parent / "backends/nvidia/bin/cuobjdump"
    return tool if tool.is_file() else None
