"""The GPUs that a kernel is compiled for, none of which need be there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Target:
    """One architecture, as Triton's compiler is told it."""

    name: str
    """sm_90, gfx942, …"""
    backend: str
    """`cuda` or `hip`: Triton's word, and that of the bounds for float32."""
    arch: int | str
    """Compute capability times ten, or the name that LLVM has for the processor."""
    warp: int
    """Lanes that run together."""
    capability: tuple[int, int]
    """What torch says of such a device."""
    of: str
    """A product that has it, for people."""

    @property
    def assembly(self) -> str:
        """Triton's name of its assembly, and the ending of such a file."""
        return "ptx" if self.backend == "cuda" else "amdgcn"


def _nvidia(major: int, minor: int, of: str) -> Target:
    number = 10 * major + minor
    return Target(name=f"sm_{number}", backend="cuda", arch=number, warp=32, capability=(major, minor), of=of)


def _amd(name: str, warp: int, of: str) -> Target:
    major, minor = int(name[3:-2]), int(name[-2])
    return Target(name=name, backend="hip", arch=name, warp=warp, capability=(major, minor), of=of)


TARGETS = {
    target.name: target
    for target in (
        _nvidia(8, 0, "A100"),
        _nvidia(9, 0, "H100, H200"),
        _nvidia(10, 0, "B200"),
        _amd("gfx942", 64, "MI300"),
        _amd("gfx950", 64, "MI350"),
        _amd("gfx1201", 32, "RX 9070"),
    )
}
