"""Assembly as a list of instructions, each with its registers and the source line that it came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from verify.audit.targets import Target

NO_LINE = "no source line"
# Ways to encode one AMD instruction; they change nothing about what it computes.
_ENCODING = re.compile(r"_(e32|e64|dpp|dpp8|sdwa|e64_dpp)$")
_PTX_REGISTER = re.compile(r"%[a-z]+\d+")
_AMD_REGISTER = re.compile(r"\b([vsa])(?:(\d+)\b|\[(\d+):(\d+)\])")
_STORES = re.compile(
    r"(st|red|bar|bra|ret)\b|(global|buffer|flat|scratch|ds)_(store|write)|s_(branch|cbranch)"
)
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_PTX_PLACE = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?")
_AMD_PLACE = re.compile(r"[;@]\[?\s*([^\s:;@]*):(\d+):\d+")


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction."""

    opcode: str
    """With its modifiers, without the encoding: `ex2.approx.ftz.f32`, `v_exp_f32`."""
    made: tuple[str, ...]
    """Registers that it writes, each of 32 bits on AMD."""
    taken: tuple[str, ...]
    """Registers that it reads."""
    place: str
    """`file.py:line` of the kernel's own source, nearest to the operation; NO_LINE where none is known."""
    text: str
    """As it stands in the assembly."""


def instructions_of(assembly: str, target: Target) -> list[Instruction]:
    """Parse the assembly of one kernel."""
    return list(_ptx(assembly) if target.backend == "cuda" else _amd(assembly))


class _Files:
    """The source files of an assembly: by number, and whether they are Triton's own."""

    def __init__(self, assembly: str) -> None:
        self._names: dict[str, str] = {}
        self._last = ""
        self.own: set[str] = set()
        for number, first, second in _FILE.findall(assembly):
            path = PurePosixPath(first, second) if second else PurePosixPath(first)
            self._names[number] = path.name
            if path.parts[-3:-1] == ("triton", "language"):
                self.own.add(path.name)

    def place(self, frames: list[tuple[str, str]]) -> str:
        """Return the innermost of (file, line) that is no file of Triton's and has a line.

        What compilers join of several lines has none; then it is said near which one it stands.
        """
        for name, line in frames:
            if name and line != "0" and name not in self.own:
                self._last = f"{name}:{line}"
                return self._last
        return f"near {self._last}" if self._last else NO_LINE

    def name(self, number: str) -> str:
        """Return a file's name."""
        return self._names.get(number, "")


def _ptx(assembly: str) -> Iterator[Instruction]:
    files, inlined = _Files(assembly), dict[str, str]()
    place = NO_LINE
    for raw in assembly.splitlines():
        line = raw.partition("//")[0].strip()
        if found := _PTX_PLACE.match(line):
            here, outer = found.groups()
            if outer:
                inlined[here] = outer
            place = files.place(_frames(here, inlined if outer else {}, files))
            continue
        if not line.endswith(";") or line.startswith("."):
            continue
        guard, text = re.match(r"(@!?%p\d+\s+)?(.*);", line).groups()  # type: ignore[union-attr]
        opcode, _, operands = text.strip().partition(" ")
        made, taken = _split(opcode, operands.strip(), _PTX_REGISTER.findall)
        if guard:
            taken = (*taken, *_PTX_REGISTER.findall(guard))
        yield Instruction(opcode=opcode, made=made, taken=taken, place=place, text=text.strip())


def _frames(here: str, inlined: dict[str, str], files: _Files) -> list[tuple[str, str]]:
    """Follow what was inlined where, from the inside; an assembly names one step at a time."""
    frames, seen = [], set[str]()
    while here and here not in seen:
        seen.add(here)
        number, line, _ = here.split()
        frames.append((files.name(number), line))
        here = inlined.get(here, "")
    return frames


def _amd(assembly: str) -> Iterator[Instruction]:
    files = _Files(assembly)
    place = NO_LINE
    for raw in assembly.splitlines():
        line = raw.strip()
        if line.startswith(".loc"):
            place = files.place(_AMD_PLACE.findall(line))
            continue
        line = line.partition(";")[0].strip()
        if not re.match(r"[a-z]+_\w+", line) or line.endswith(":"):
            continue
        for text in line.split(" :: "):  # two at once
            opcode, _, operands = text.strip().partition(" ")
            opcode = _ENCODING.sub("", opcode.replace("v_dual_", "v_"))
            made, taken = _split(opcode, operands.strip(), _amd_registers)
            if re.search(r"_(fmac|mac|fmaak)_", opcode):
                taken = (*taken, *made)  # adds to what is there
            yield Instruction(opcode=opcode, made=made, taken=taken, place=place, text=text.strip())


def _split(
    opcode: str, operands: str, find: Callable[[str], list[str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the registers of the first operand and those of the others; a store writes none."""
    if _STORES.match(opcode):
        return (), tuple(find(operands))
    head = re.match(r"\{[^}]*\}|[^,]*", operands)
    first = head.group(0) if head else ""
    return tuple(find(first)), tuple(find(operands[len(first) :]))


def _amd_registers(text: str) -> list[str]:
    found = []
    for kind, single, low, high in _AMD_REGISTER.findall(text):
        numbers = [int(single)] if single else range(int(low), int(high) + 1)
        found += [f"{kind}{number}" for number in numbers]
    return found
