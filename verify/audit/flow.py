"""What an instruction is there for, where that cannot be read off it alone.

Compilers build exact operations from approximate ones: AMD divides integers with the help of a float32
reciprocal, and every exact division and logarithm in float64 begins with a crude reciprocal that is then
refined. Such a step rounds nothing that reaches a result. A conversion to a narrow format, on the other hand,
is harmless where it ends a computation and not in the midst of one. All this is told by where a value comes
from and where it goes, within registers: what passes through memory is lost sight of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from verify.audit.instructions import Instruction


class Role(StrEnum):
    """What an instruction is there for."""

    OWN = "own"
    """What it says."""
    EXACT = "step of an exact division"
    """Its reciprocal is refined until the quotient is correctly rounded."""
    SEED = "seed in float64"
    """A crude reciprocal in float64, refined by at least one product-and-sum."""
    INTEGER = "step of an integer division"
    """float32 between integers and integers."""
    NARROWED = "rounded on the way"
    """A conversion to fewer bits whose result is computed with, and not only stored."""


_MOVE = re.compile(
    r"(v_mov_b32|v_readfirstlane_b32|v_readlane_b32|s_mov_b32|v_cndmask_b32|ds_b?permute_b32)$"
    r"|mov\.b(16|32|64)$|selp\.(b|f)\d+$|shfl\."
)
_SEED = re.compile(r"(rcp|rsqrt)\.approx\.ftz\.f64$|v_(rcp|rsq)_f64$")
_REFINES = re.compile(r"fma\.rn\.f64$|v_fma(c)?_f64$")
_RECIPROCAL = re.compile(r"v_rcp_f(32|64)$")
_NARROWS = re.compile(
    r"cvt\.r\w+(\.\w+)*\.(f32\.f64|(b?f16|e\dm\d)(x\d)?\.f(32|64))$"
    r"|[vs]_cvt_(\w+_)?(f32_f64|b?f16_f(32|64)|(fp8|bf8)_f(32|16))$"
)
_COMPUTES = re.compile(
    r"cvt(\.ftz)?\.(f64\.(f32|b?f16)|f32\.b?f16)$|(add|sub|mul|fma|div|rcp|ex2|lg2|sqrt|rsqrt)\.(?!lo|hi|wide|[su]\d).*f\d+"
    r"|[vs]_cvt_f64_f32$|[vs]_cvt_f32_b?f16$|[vs]_(s_)?(pk_)?(add|sub|subrev|mul|fma|fmac|fmamk|fmaak|exp|log|rcp)_b?f\d+$"
)
# The float32 that LLVM puts into an integer division, by how it begins, goes on and ends.
_FROM_INTEGER = re.compile(r"[vs]_cvt_f32_[ui]32$|v_cvt_f32_ubyte\d$")
_WITHIN = re.compile(
    r"(v_s_rcp_f32|v_rcp_f32|v_rcp_iflag_f32|[vs]_(mul|fma|fmac|mac|mad|fmamk|fmaak|madmk|trunc)_f32)$"
)
_TO_INTEGER = re.compile(r"[vs]_cvt_[ui]32_f32$|v_cmp\w*_f32$")


def roles_of(instructions: Sequence[Instruction]) -> list[Role]:
    """Return the role of every instruction of a kernel."""
    flow = _Flow(instructions)
    return [flow.role(index) for index in range(len(instructions))]


class _Flow:
    """Who makes what each instruction takes, in the order of the text: enough within a straight sequence."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._all = instructions
        self._makers: list[tuple[int, ...]] = []
        self._takers: list[list[int]] = [[] for _ in instructions]
        last: dict[str, int] = {}
        for index, instruction in enumerate(instructions):
            makers = {last[register] for register in instruction.taken if register in last}
            self._makers.append(tuple(sorted(makers)))
            for maker in makers:
                self._takers[maker].append(index)
            last |= dict.fromkeys(instruction.made, index)

    def role(self, index: int) -> Role:
        opcode = self._all[index].opcode
        if _RECIPROCAL.match(opcode) and any(self._is(i, "v_div_scale") for i in self._makers[index]):
            return Role.EXACT
        if _SEED.match(opcode) and any(_REFINES.match(self._all[i].opcode) for i in self._reached(index)):
            return Role.SEED
        if _WITHIN.match(opcode) and self._begins(index, set()) and self._ends(index, set()):
            return Role.INTEGER
        if _NARROWS.match(opcode) and any(_COMPUTES.match(self._all[i].opcode) for i in self._reached(index)):
            return Role.NARROWED
        return Role.OWN

    def _is(self, index: int, start: str) -> bool:
        return self._all[index].opcode.startswith(start)

    def _reached(self, index: int) -> list[int]:
        """Return who takes the value, looking through moves."""
        found, ahead, seen = [], list(self._takers[index]), {index}
        while ahead:
            taker = ahead.pop()
            if taker in seen:
                continue
            seen.add(taker)
            if _MOVE.match(self._all[taker].opcode):
                ahead += self._takers[taker]
            else:
                found.append(taker)
        return found

    def _begins(self, index: int, seen: set[int]) -> bool:
        """Tell whether everything that goes into it was an integer before."""
        if index in seen:
            return True
        seen.add(index)
        makers = self._makers[index]
        return bool(makers) and all(
            bool(_FROM_INTEGER.match(opcode))
            or (bool(_WITHIN.match(opcode) or _MOVE.match(opcode)) and self._begins(maker, seen))
            for maker in makers
            for opcode in (self._all[maker].opcode,)
        )

    def _ends(self, index: int, seen: set[int]) -> bool:
        """Tell whether everything that is made of it becomes an integer, or is compared."""
        if index in seen:
            return True
        seen.add(index)
        takers = self._takers[index]
        return bool(takers) and all(
            bool(_TO_INTEGER.match(opcode))
            or (bool(_WITHIN.match(opcode) or _MOVE.match(opcode)) and self._ends(taker, seen))
            for taker in takers
            for opcode in (self._all[taker].opcode,)
        )
