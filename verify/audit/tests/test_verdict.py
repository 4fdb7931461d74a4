"""Complaints follow from the table and the declared bounds, and so does the bound that would hold."""

from collections import Counter

import pytest

from verify.audit.operations import Function, functions_of
from verify.audit.reading import Item, Reading, items_of
from verify.audit.resources import Resources
from verify.audit.targets import TARGETS
from verify.audit.verdict import Reason, bound_of, complaints_of
from verify.bounds import load_bounds
from verify.bounds.float32 import Backend, Float32Bounds
from verify.bounds.float64 import Float64Bounds
from verify.cli.special import TARGET

SOUND = "\n".join(
    f"{line};"
    for line in (
        *("cvt.f64.f32 %fd1, %f1", "mul.rn.f64 %fd2, %fd1, %fd1", "div.rn.f64 %fd3, %fd2, %fd1"),
        *("cvt.rn.f32.f64 %f2, %fd3", "max.f64 %fd4, %fd3, %fd2"),
    )
)
SINGLE = "ex2.approx.ftz.f32 %f2, %f1;\nadd.f32 %f3, %f2, %f1;\ndiv.full.f32 %f4, %f3, %f2;"
AMD_SOUND = "v_mul_f64 v[0:1], v[2:3], v[4:5]\n"


def reading_of(text: str, target: str = "sm_90", functions: tuple[Function, ...] = ()) -> Reading:
    return Reading(
        name="merge-1",
        kernel="merge",
        place="kernel.py:1",
        items=items_of(f".loc 1 7 0\n{text}\n.file 1 \"kernel.py\"\n", TARGETS[target]),
        functions=Counter(functions),
        resources=Resources(registers=32, spilled_bytes=0),
    )  # fmt: skip


def found(
    text: str, bounds: str, target: str = "sm_90", functions: tuple[Function, ...] = ()
) -> dict[str, set[Reason]]:
    complaints = complaints_of(TARGETS[target], [reading_of(text, target, functions)], load_bounds(bounds))
    return {complaint.opcode: set(complaint.reasons) for complaint in complaints}


def bound(text: str, target: str = "sm_90", functions: tuple[Function, ...] = ()) -> str:
    default = load_bounds()
    assert isinstance(default, Float64Bounds)
    return bound_of(TARGETS[target], [reading_of(text, target, functions)], default)


LOG2 = Function(name="log2", bits=32, place="kernel.py:9")
LOG = Function(name="log", bits=64, place="kernel.py:9")


def test_float64_keeps_the_default_bounds():
    assert found(SOUND, "default", functions=(LOG,)) == {}
    assert bound(SOUND, functions=(LOG,)) == "0.501 ulp + 2^-53·(S + 16 + d)"


def test_float32_does_not():
    assert found(SINGLE, "default", functions=(LOG2,)) == {
        "ex2.approx.ftz.f32": {Reason.APPROXIMATE, Reason.NARROW, Reason.FLUSHES},
        "add.f32": {Reason.NARROW},
        "div.full.f32": {Reason.APPROXIMATE, Reason.NARROW},
        "log2 32": {Reason.APPROXIMATE, Reason.NARROW},
    }


def test_float32_keeps_the_bounds_that_grant_it_its_errors():
    assert found(SINGLE, "fp32", functions=(LOG2,)) == {}


def test_the_bound_of_float32_is_that_formula_with_the_documented_errors():
    single = load_bounds("fp32")
    assert isinstance(single, Float32Bounds)
    backend = Backend(name="cuda", exp2=2.0, division=2.0, log2=1.0)
    a, b, c = single.numerator(backend), single.denominator(backend), single.logarithm(backend)
    assert bound(SINGLE, functions=(LOG2,)) == f"fp32, a {a}, b {b}, c {c}"
    granted = next(backend for backend in single.backends if backend.name == "cuda")
    assert a <= single.numerator(granted)
    assert b <= single.denominator(granted)
    assert c <= single.logarithm(granted)


@pytest.mark.parametrize("bounds", ["default", "fp32"])
@pytest.mark.parametrize(
    ("text", "opcode", "reason"),
    [
        ("lg2.approx.f32 %f2, %f1;", "lg2.approx.f32", Reason.APPROXIMATE),
        ("div.approx.f32 %f2, %f1, %f3;", "div.approx.f32", Reason.APPROXIMATE),
        ("tanh.approx.f32 %f2, %f1;", "tanh.approx.f32", Reason.APPROXIMATE),
        ("cvt.rz.f32.f64 %f2, %fd1;", "cvt.rz.f32.f64", Reason.APPROXIMATE),
        ("add.bf16x2 %r1, %r2, %r3;", "add.bf16x2", Reason.NARROW),
        ("ex3.approx.f32 %f2, %f1;", "ex3.approx.f32", Reason.UNKNOWN),
    ],
)
def test_what_no_bounds_pay_for(bounds, text, opcode, reason):
    assert reason in found(text, bounds)[opcode]


def test_an_instruction_that_nothing_bounds_leaves_no_bound():
    assert bound(f"{SINGLE}\nlg2.approx.f32 %f9, %f1;") == "none: lg2.approx.f32"
    assert bound("add.bf16x2 %r1, %r2, %r3;").startswith("none")


def test_a_narrow_value_in_the_midst_of_float64():
    text = f"{SOUND}\ncvt.f64.f32 %fd9, %f2;"
    assert found(text, "default") == {"cvt.rn.f32.f64": {Reason.NARROW}}
    assert bound(text).startswith("fp32")


def test_a_function_that_is_in_no_table():
    erf = Function(name="erf", bits=64, place="kernel.py:3")
    assert found(SOUND, "default", functions=(erf,)) == {"erf 64": {Reason.UNKNOWN}}


@pytest.mark.parametrize(("mode", "reasons"), [(3, set()), (0, {Reason.FLUSHES}), (2, {Reason.FLUSHES})])
def test_the_mode_of_an_amd_kernel(mode, reasons):
    text = f"{AMD_SOUND}\t\t.amdhsa_float_denorm_mode_16_64 {mode}\n"
    assert found(text, "default", "gfx942").get("v_mul_f64", set()) == reasons


def test_a_complaint_names_target_instruction_line_and_source():
    (complaint,) = complaints_of(TARGETS["sm_90"], [reading_of("add.f32 %f3, %f2, %f1;")], load_bounds())
    said = str(complaint)
    for part in ("sm_90", "add.f32", "kernel.py:7", "merge", "narrow", "PTX ISA", "1 times"):
        assert part in said


def test_functions_are_found_in_what_triton_compiles_first():
    form = """
#loc1 = loc("/home/me/kernel.py":12:4)
#loc2 = loc("/lib/triton/language/standard.py":5:4)
#loc3 = loc("x"(#loc1))
#loc4 = loc(callsite(#loc2 at #loc3))
    %1 = math.log %0 : tensor<32xf64> loc(#loc4)
    %2 = math.exp2 %1 : tensor<4x8xf32> loc(#loc1)
    %3 = math.exp2 %1 : tensor<4x8xf64> loc(#loc1)
    %4 = math.floor %1 : f64 loc(#loc1)
    %5 = tt.extern_elementwise %4 {libname = "", symbol = "__nv_tgamma"} : (f64) -> f64 loc(#loc3)
"""
    assert {(f.label, f.place): n for f, n in functions_of(form).items()} == {
        ("log 64", "kernel.py:12"): 1,
        ("exp2 64", "kernel.py:12"): 1,
        ("__nv_tgamma 64", "kernel.py:12"): 1,
    }


def test_items_that_are_alike_are_counted_together():
    items = reading_of("add.f32 %f3, %f2, %f1;\nadd.f32 %f4, %f3, %f1;").items
    assert [(item.opcode, count) for item, count in items.items()] == [("add.f32", 2)]
    assert all(isinstance(item, Item) for item in items)


def test_the_option_names_all_targets():
    assert TARGET.default == tuple(TARGETS)
    assert TARGET.parse("sm_90") == ("sm_90",)
