"""What a compiled kernel consists of: floating-point instructions, each with what is documented of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verify.audit.amd import AMD
from verify.audit.documented import Documented, Table
from verify.audit.flow import Role, roles_of
from verify.audit.instructions import instructions_of
from verify.audit.nvidia import NVIDIA
from verify.audit.operations import Function, functions_of
from verify.audit.resources import Resources, resources_of
from verify.audit.targets import Target

TABLES = {"cuda": NVIDIA, "hip": AMD}
_MODE = re.compile(r"\.amdhsa_float_denorm_mode_(32|16_64)\s+(\d)")
_KEEPS = 3
"""The mode in which neither arguments nor results are flushed."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """Instructions that are alike: one opcode of one source line, in one role."""

    opcode: str
    place: str
    """`file.py:line`."""
    role: Role
    documented: Documented | None
    """None for an opcode that computes with floating-point numbers and is in no table."""
    flushes: bool
    """Whether it takes subnormals for 0, by itself, by a modifier or by the kernel's mode."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One kernel as compiled for one target."""

    name: str
    """Of the kernel, with a hash of what was compiled into it."""
    kernel: str
    """Of the Triton function."""
    place: str
    """`file.py:line` where it is defined."""
    items: Counter[Item]
    """How often each occurs."""
    functions: Counter[Function]
    """What it calls of a library."""
    resources: Resources
    constants: dict[str, str] = field(default_factory=dict)
    """What was compiled in, by the name of the parameter."""
    signature: dict[str, str] = field(default_factory=dict)
    """Types of the parameters, by name, as Triton writes them."""
    options: dict[str, object] = field(default_factory=dict)
    """num_warps and what else Triton was told."""
    calls: tuple[str, ...] = ()
    """The calls that launch it first."""


def read_kernel(target: Target, folder: Path, about: dict[str, Any]) -> Reading:
    """Read what `capture` wrote of one kernel; `about` is its entry in the answer."""
    name, kernel = str(about["name"]), str(about["kernel"])
    assembly = (folder / f"{name}.{target.assembly}").read_text()
    return Reading(
        name=name,
        kernel=kernel,
        place=f"{about['file']}:{about['line']}",
        items=items_of(assembly, target),
        functions=functions_of((folder / f"{name}.ttir").read_text()),
        resources=resources_of(folder, name),
        constants=about["constants"],
        signature=about["signature"],
        options=about["options"],
        calls=tuple(about["calls"]),
    )


def items_of(assembly: str, target: Target) -> Counter[Item]:
    """Count the floating-point instructions of an assembly that are alike."""
    table = TABLES[target.backend]
    modes = dict(_MODE.findall(assembly))
    instructions = instructions_of(assembly, target)
    found: Counter[Item] = Counter()
    for instruction, role in zip(instructions, roles_of(instructions), strict=True):
        if table.is_floating(instruction.opcode):
            line = table.instruction(instruction.opcode)
            item = Item(
                opcode=instruction.opcode,
                place=instruction.place,
                role=role,
                documented=line,
                flushes=_flushes(instruction.opcode, line, modes),
            )
            found[item] += 1
    return found


def _flushes(opcode: str, line: Documented | None, modes: dict[str, str]) -> bool:
    if (line is not None and line.flushes) or ".ftz" in opcode:
        return True
    narrow = "32" if "f32" in opcode else "16_64"
    return int(modes.get(narrow, _KEEPS)) != _KEEPS


def table_of(target: Target) -> Table:
    """Return what is documented of a target's instructions."""
    return TABLES[target.backend]
