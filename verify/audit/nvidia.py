"""What NVIDIA documents of PTX instructions and of the functions in libdevice."""

from __future__ import annotations

import math
import re

from verify.audit.documented import Documented, Kind, Paid, Table

PTX = "PTX ISA 9.1, Instructions"
CUDA = "CUDA C++ Programming Guide, Mathematical Functions"
_NONE = math.inf


def _line(
    pattern: str, kind: Kind, bits: int, ulp: float, note: str, paid: Paid | None = None, source: str = PTX
) -> Documented:
    return Documented(
        pattern=pattern,
        kind=kind,
        bits=bits,
        ulp=ulp,
        note=note,
        paid=paid,
        flushes=pattern.startswith("(atom") and "f32" in pattern,  # all else obeys .ftz
        source=source,
    )


_TRANSCENDENTAL = (
    (r"ex2\.approx(\.ftz)?\.f32", 24, 2.0, "2 ulp over the full range", Paid.EXP2),
    (r"lg2\.approx(\.ftz)?\.f32", 24, _NONE, "2^-22 absolute between 0.5 and 2, so no ulp near 1"),
    (r"(sin|cos)\.approx(\.ftz)?\.f32", 24, _NONE, "an absolute error, within a period"),
    (r"tanh\.approx\.f32", 24, _NONE, "2^-11 relative"),
    (r"(ex2|tanh)\.approx(\.ftz)?\.b?f16(x2)?", 11, _NONE, "of a 16-bit format"),
)
_DIVISION = (
    (r"div\.full(\.ftz)?\.f32", 24, 2.0, "2 ulp over the full range", Paid.DIVISION),
    (r"div\.approx(\.ftz)?\.f32", 24, _NONE, "2 ulp, but 0 for divisors above 2^126"),
    (r"rcp\.approx(\.ftz)?\.f32", 24, 1.0, "1 ulp over the full range", Paid.DIVISION),
    (r"r?sqrt\.approx(\.ftz)?\.f32", 24, 2.2, "2^-22.9 relative"),
    (r"(rcp|rsqrt)\.approx\.ftz\.f64", 20, _NONE, "of the upper 32 bits alone, a seed to be refined"),
    (r"(div|rcp|sqrt)\.rn\.f64", 53, 0.5, "IEEE 754"),
    (r"(div|rcp|sqrt)\.rn(\.ftz)?\.f32", 24, 0.5, "IEEE 754"),
    (r"(div|rcp|sqrt)\.(rz|rm|rp)(\.ftz)?\.f(32|64)", 24, 1.0, "rounds to one side"),
)
_CONVERSION = (
    (r"cvt(\.r[nzmp]i)?(\.ftz)?(\.sat)?\.[su]\d+\.f\d+", 0, 0.0, "to an integer"),
    (r"cvt\.r[nzmp]i(\.ftz)?\.(f\d+)\.\2", 0, 0.0, "to an integral value"),
    (r"cvt\.f64\.(f32|f16|bf16)|cvt(\.ftz)?\.f32\.(f16|bf16)", 0, 0.0, "widening, exact"),
    (r"cvt\.rn(\.sat)?\.f(32|64)\.[su]\d+", 0, 0.5, "of an integer, rounds once"),
    (r"cvt\.rn(\.ftz)?\.f32\.f64", 0, 0.5, "rounds once"),
    (r"cvt\.rn(\.relu|\.satfinite)*\.b?f16(x2)?\.f(32|64)", 0, 0.5, "rounds once"),
    (r"cvt\.rn\.satfinite(\.relu)?\.(e4m3|e5m2)x[24]\.\w+", 0, 0.5, "rounds once, saturates, keeps NaN"),
    (r"cvt\.rn(\.relu)?\.f16x2\.(e4m3|e5m2)x2", 0, 0.0, "widening, exact"),
    (r"cvt\..*\.(b?f16|f32|f64|e\dm\d)\w*\..*", 0, 1.0, "not to nearest, or not in this table"),
)
_CLAMP = (
    (r"redux\.sync\.(min|max)(\.abs)?\.NaN\.f32", 0, 0.0, "of a warp; NaN where an argument is NaN"),
    (r"redux\.sync\.(min|max)(\.abs)?\.f32", 0, 0.0, "of a warp; the number where an argument is NaN"),
    (r"(min|max)(\.ftz)?\.NaN(\.xorsign\.abs)?\.b?f\w+", 0, 0.0, "NaN where an argument is NaN"),
    (r"(min|max)(\.ftz)?\.b?f\w+", 0, 0.0, "the number where an argument is NaN"),
    (r"(add|sub|mul|fma)(\.\w+)*\.sat(\.\w+)*\.b?f\w+", 24, 0.5, "to [0, 1], NaN becomes 0"),
)
_ARITHMETIC = (
    (r"(add|sub|mul|fma)(\.rn)?\.f64", 53, 0.5, "IEEE 754"),
    (r"(add|sub|mul|fma)(\.rn)?(\.ftz)?\.f32(x2)?", 24, 0.5, "IEEE 754"),
    (r"(add|sub|mul|fma)(\.rn)?(\.ftz)?(\.relu)?\.b?f16(x2)?", 11, 0.5, "IEEE 754, of a 16-bit format"),
    (r"(add|sub|mul|fma)\.(rz|rm|rp)(\.ftz)?\.f(32|64)(x2)?", 24, 1.0, "rounds to one side"),
    (r"(atom|red)\..*add.*\.f32(x2)?", 24, 0.5, "atomic, in any order; flushes in global memory"),
    (r"(atom|red)\..*add.*\.f64", 53, 0.5, "atomic, in any order"),
    (r"(atom|red)\..*add.*\.b?f16(x2)?", 11, 0.5, "atomic, in any order"),
    (r"(wgmma|tcgen05|mma)\..*", 10, _NONE, "matrix products"),
)
_FUNCTIONS = (
    # exp and exp2 of float32 are ex2, which speaks for itself.
    (r"log2? 32", 24, 1.0, "log2f, logf of libdevice", Paid.LOG2),
    (r"exp2? 64", 53, 1.0, "exp, exp2 of libdevice", Paid.EXP2),
    (r"log2? 64", 53, 1.0, "log, log2 of libdevice", Paid.LOG2),
)

NVIDIA = Table(
    floating=re.compile(
        r"(?!(setp?|selp|slct|mov|ld|st|neg|abs|copysign|testp|shfl)\.).*"
        r"\.(b?f(16|32|64)(x2)?|e\dm\dx\d)(\.|$)|(wgmma|tcgen05|mma)\.(?!fence|commit|wait|alloc|dealloc)"
    ),
    instructions=(
        *(_line(line[0], Kind.TRANSCENDENTAL, *line[1:]) for line in _TRANSCENDENTAL),
        *(_line(line[0], Kind.DIVISION, *line[1:]) for line in _DIVISION),
        *(_line(line[0], Kind.CONVERSION, *line[1:]) for line in _CONVERSION),
        *(_line(line[0], Kind.CLAMP, *line[1:]) for line in _CLAMP),
        *(_line(line[0], Kind.ARITHMETIC, *line[1:]) for line in _ARITHMETIC),
    ),
    functions=tuple(_line(line[0], Kind.TRANSCENDENTAL, *line[1:], source=CUDA) for line in _FUNCTIONS),
    flush="by the modifier .ftz",
)
