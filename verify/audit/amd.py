"""What AMD documents of its instructions and of the functions in OCML."""

from __future__ import annotations

import math
import re

from verify.audit.documented import Documented, Kind, Paid, Table

ISA = "AMD Instinct MI300 and RDNA4 ISA, VOP1, VOP3"
HIP = "HIP documentation, HIP math API"
_NONE = math.inf


def _line(
    pattern: str, kind: Kind, bits: int, ulp: float, note: str, paid: Paid | None = None, source: str = ISA
) -> Documented:
    # Those that the documents say to flush; what remains obeys the mode.
    flushes = source == ISA and re.search(r"exp|log|rcp|rsq|sqrt|sin|mad", pattern) and "f32" in pattern
    return Documented(
        pattern=pattern,
        kind=kind,
        bits=bits,
        ulp=ulp,
        note=note,
        paid=paid,
        flushes=bool(flushes),
        source=source,
    )


_TRANSCENDENTAL = (
    (r"v_(s_)?exp_f32", 24, 1.0, "1 ulp", Paid.EXP2),
    (r"v_(s_)?log_f32", 24, 1.0, "1 ulp", Paid.LOG2),
    (r"v_(sin|cos)_f32", 24, _NONE, "no relative error"),
    (r"v_(s_)?(exp|log|sin|cos|tanh)_b?f16", 11, _NONE, "of a 16-bit format"),
    (r"v_tanh_f\d+", 24, _NONE, "no relative error"),
)
_DIVISION = (
    (r"v_(s_)?rcp(_iflag)?_f32", 24, 1.0, "1 ulp", Paid.DIVISION),
    (r"v_(s_)?(rsq|sqrt)_f32", 24, 1.0, "1 ulp"),
    (r"v_(rcp|rsq|sqrt)_f64", 24, _NONE, "2^29 ulp, a seed to be refined"),
    (r"v_(s_)?(rcp|rsq|sqrt)_b?f16", 11, _NONE, "of a 16-bit format"),
    (r"v_div_fixup_f64", 53, 0.5, "ends an exact division"),
    (r"v_div_fixup_f32", 24, 0.5, "ends an exact division"),
)
_CONVERSION = (
    (r"[vs]_cvt_f64_(f32|[iu]32)", 0, 0.0, "widening, exact"),
    (r"[vs]_cvt_f32_b?f16|v_cvt_f32_ubyte\d|v_cvt_(pk_)?f32_(fp8|bf8)", 0, 0.0, "widening, exact"),
    (r"[vs]_cvt_f32_(f64|[iu]32)", 0, 0.5, "rounds once"),
    (r"[vs]_cvt_(pk_)?b?f16_f(32|64)", 0, 0.5, "rounds once"),
    (r"[vs]_cvt_pk_?rtz_f16_f32", 0, 1.0, "rounds towards zero"),
    (r"v_cvt_(scalef32_)?(pk_)?(fp8|bf8)_b?f(32|16)", 0, 0.5, "rounds once"),
    (r"[vs]_cvt_(pk_|rpi_|flr_)?[iu]\d+_f\d+", 0, 0.0, "to an integer"),
    (r"[vs]_(trunc|ceil|rndne|floor)_f\d+", 0, 0.0, "to an integral value"),
)
_CLAMP = (
    (r"[vs]_(pk_)?(minimum|maximum)(3|minimum|maximum)?_f\d+", 0, 0.0, "NaN where an argument is NaN"),
    (r"[vs]_(pk_)?(min|max)3?(_num)?_f\d+", 0, 0.0, "the number where an argument is NaN"),
    (r"v_(min|max)(min|max)_(num_)?f\d+", 0, 0.0, "the number where an argument is NaN"),
    (r"v_med3_(num_)?f\d+", 0, 0.0, "the least of the others where an argument is NaN"),
)
_ARITHMETIC = (
    (r"v_(add|mul|fma|fmac|ldexp)_f64", 53, 0.5, "IEEE 754"),
    (r"v_div_(scale|fmas)_f(32|64)", 0, 0.0, "steps of an exact division"),
    (r"[vs]_(pk_)?(add|sub|subrev|mul|fma|fmac|fmamk|fmaak)_f32", 24, 0.5, "IEEE 754"),
    (r"v_(mad|mac|madmk|madak)_f32", 24, 1.0, "rounds the product too, and flushes"),
    (r"v_ldexp_f32", 24, 0.5, "by a power of two"),
    (r"[vs]_(pk_)?(add|sub|subrev|mul|fma|fmac|ldexp)_b?f16", 11, 0.5, "IEEE 754, of a 16-bit format"),
    (r"(global|buffer|flat|ds)_(atomic_)?(pk_)?add_(rtn_)?\w*f(32|16|64)", 24, 0.5, "atomic, in any order"),
    (r"v_(s?mfmac?|wmma|swmmac|dot\d\w*)_.*", 10, _NONE, "matrix products"),
)
_FUNCTIONS = (
    # exp and exp2 of float32 are v_exp, which speaks for itself.
    (r"log2 32", 24, 1.0, "log2f, measured on [1e-6, 1e6]", Paid.LOG2),
    (r"log 32", 24, 2.0, "logf, measured on [1e-6, 1e6]", Paid.LOG2),
    (r"exp2? 64", 53, 1.0, "exp, exp2, measured on [-10, 10]", Paid.EXP2),
    (r"log2? 64", 53, 1.0, "log, log2, measured on [1e-6, 1e6]", Paid.LOG2),
)

AMD = Table(
    floating=re.compile(
        r"[vs]_(?!cmpx?_|cndmask|mov|frexp|fract|pack|perm).*_(b?f(16|32|64)|fp8|bf8)(_|$)|v_(s?mfma|wmma|dot)"
        r"|(global|buffer|flat|ds)_(atomic_)?(pk_)?add_(rtn_)?\w*f\d+"
    ),
    instructions=(
        *(_line(line[0], Kind.TRANSCENDENTAL, *line[1:]) for line in _TRANSCENDENTAL),
        *(_line(line[0], Kind.DIVISION, *line[1:]) for line in _DIVISION),
        *(_line(line[0], Kind.CONVERSION, *line[1:]) for line in _CONVERSION),
        *(_line(line[0], Kind.CLAMP, *line[1:]) for line in _CLAMP),
        *(_line(line[0], Kind.ARITHMETIC, *line[1:]) for line in _ARITHMETIC),
    ),
    functions=tuple(_line(line[0], Kind.TRANSCENDENTAL, *line[1:], source=HIP) for line in _FUNCTIONS),
    flush="by the mode that the kernel sets; exponential, logarithm, reciprocal and root of float32 always",
)
