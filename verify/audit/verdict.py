"""What the documented errors come to: what the declared bounds do not pay for, and bounds that would.

The formulas and their constants are those of `verify.bounds`; what is filled in here are the errors of the
instructions that a kernel really has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from verify.audit.documented import Documented, Paid
from verify.audit.flow import Role
from verify.audit.reading import Item, Reading, table_of
from verify.audit.targets import Target
from verify.bounds import Bounds, load_bounds
from verify.bounds.float32 import Backend, Float32Bounds
from verify.bounds.float64 import Float64Bounds

_WIDE, _SINGLE = 53, 24
_CORRECT = 0.5
_EXCUSED = (Role.EXACT, Role.SEED, Role.INTEGER)


class Reason(StrEnum):
    """Why an instruction is an error under the declared bounds."""

    UNKNOWN = "in no table"
    APPROXIMATE = "approximate"
    FLUSHES = "flushes subnormals"
    NARROW = "narrow"
    """Rounds to fewer bits than the bounds count on."""


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """Instructions of one source line that are an error, on one target."""

    target: str
    kernel: str
    opcode: str
    """Of the instruction, or `function bits`."""
    place: str
    """`file.py:line`."""
    reasons: tuple[Reason, ...]
    said: str
    """What is documented, in a few words."""
    count: int
    """In all kernels that were compiled."""

    def __str__(self) -> str:
        """Say it in one line."""
        why = " and ".join(self.reasons)
        where = f"{self.target} {self.opcode} at {self.place} in {self.kernel}"
        return f"{where}, {self.count} times: {why}; {self.said}"


def complaints_of(target: Target, readings: Iterable[Reading], bounds: Bounds) -> list[Complaint]:
    """Return what the bounds do not pay for, the gravest first."""
    found: Counter[tuple[str, str, str, tuple[Reason, ...], str]] = Counter()
    for reading in readings:
        for item, count in reading.items.items():
            reasons = tuple(_reasons(item, target, bounds))
            if reasons:
                found[
                    reading.kernel, item.opcode, item.place, reasons, _said(item.documented, item.role)
                ] += count
        for function, count in reading.functions.items():
            line = table_of(target).function(function.label)
            reasons = tuple(_against(line, target, bounds))
            if reasons:
                found[reading.kernel, function.label, function.place, reasons, _said(line)] += count
    return [
        Complaint(
            target=target.name, kernel=kernel, opcode=opcode, place=place, reasons=reasons, said=said, count=n
        )
        for (kernel, opcode, place, reasons, said), n in sorted(found.items(), key=_gravity)
    ]


def _gravity(entry: tuple[tuple[str, str, str, tuple[Reason, ...], str], int]) -> tuple[int, str, str]:
    """Order the gravest first: what cannot be bounded or is off by more than a rounding, then by line."""
    _, opcode, place, reasons, _ = entry[0]
    return min(list(Reason).index(reason) for reason in reasons), place, opcode


def _said(line: Documented | None, role: Role = Role.OWN) -> str:
    if line is None:
        return "nothing is documented of it here"
    if role is Role.NARROWED:
        return f"{role}, its result is computed with ({line.source})"
    return f"{line.note} ({line.source})"


def _reasons(item: Item, target: Target, bounds: Bounds) -> Iterator[Reason]:
    if item.role in _EXCUSED:
        return
    yield from _against(item.documented, target, bounds)
    if item.role is Role.NARROWED and isinstance(bounds, Float64Bounds):
        yield Reason.NARROW
    # Beside float32 a flush is at most a rounding that the bounds count, and says so.
    if item.flushes and isinstance(bounds, Float64Bounds):
        yield Reason.FLUSHES


def _against(line: Documented | None, target: Target, bounds: Bounds) -> Iterator[Reason]:
    if line is None:
        yield Reason.UNKNOWN
        return
    wanted = _WIDE if isinstance(bounds, Float64Bounds) else _SINGLE
    if line.ulp > _granted(line, target, bounds):
        yield Reason.APPROXIMATE
    if 0 < line.bits < wanted:
        yield Reason.NARROW


def _granted(line: Documented, target: Target, bounds: Bounds) -> float:
    """Return the error in ulp that bounds pay for: that of a correct rounding unless they say more."""
    if isinstance(bounds, Float32Bounds) and line.paid is not None and line.bits == _SINGLE:
        backend = next(b for b in bounds.backends if b.name == target.backend)
        return float(getattr(backend, line.paid))
    if line.bits == _WIDE and line.paid is not None:
        return 1.0  # the constant of either bounds pays for a function of float64 that is off by an ulp
    return _CORRECT


def bound_of(target: Target, readings: Iterable[Reading], default: Float64Bounds) -> str:
    """Return the bound that follows from the documented errors.

    A kernel whose roundings are all of float64 keeps the default form, in S and d = |m − M|; one of float32,
    that of `fp32` with the constants a, b and c (verify/bounds/README.md) that its own instructions give; one
    with an instruction that nothing bounds keeps none.
    """
    lines = list(_lines(target, readings))
    unbounded = sorted({name for name, line in lines if line is None or math.isinf(line.ulp)})
    if unbounded:
        return f"none: {', '.join(unbounded)}"
    known = [line for _, line in lines if line is not None]
    if any(0 < line.bits < _SINGLE for line in known):
        return "none: rounds to 16 bits"
    narrowed = any(item.role is Role.NARROWED for reading in readings for item in reading.items)
    if all(line.bits in (0, _WIDE) and line.ulp <= 1.0 for line in known) and not narrowed:
        grown = (
            f"{_times(default.per_segment, 'S')} + {default.constant:g} + {_times(default.per_exponent, 'd')}"
        )
        return f"{default.ulp:g} ulp + 2^{default.unit_roundoff_log2}·({grown})"
    single = load_bounds("fp32")
    assert isinstance(single, Float32Bounds)
    errors = {
        paid.value: max(
            [_CORRECT, *(line.ulp for line in known if line.paid is paid and line.bits == _SINGLE)]
        )
        for paid in Paid
    }
    backend = Backend(name=target.backend, **errors)
    a, b, c = single.numerator(backend), single.denominator(backend), single.logarithm(backend)
    return f"fp32, a {a}, b {b}, c {c}"


def _times(number: float, letter: str) -> str:
    return letter if number == 1 else f"{number:g}·{letter}"


def _lines(target: Target, readings: Iterable[Reading]) -> Iterator[tuple[str, Documented | None]]:
    for reading in readings:
        for item in reading.items:
            if item.role not in _EXCUSED:
                yield item.opcode, item.documented
        for function in reading.functions:
            yield function.label, table_of(target).function(function.label)
