"""The same opcode is told apart by what its value comes from and what becomes of it."""

import pytest

from verify.audit.flow import Role, roles_of
from verify.audit.instructions import instructions_of
from verify.audit.targets import TARGETS

DIVISION_OF_32_BITS = """
	v_cvt_f32_u32_e32 v1, s0
	v_rcp_f32_e32 v1, v1
	v_mul_f32_e32 v1, 0x4f7ffffe, v1
	v_cvt_u32_f32_e32 v1, v1
"""
DIVISION_OF_64_BITS = """
	v_cvt_f32_u32_e32 v1, s0
	v_cvt_f32_u32_e32 v2, s1
	v_fmac_f32_e32 v1, 0x4f800000, v2
	v_rcp_f32_e32 v1, v1
	v_mul_f32_e32 v1, 0x5f7ffffc, v1
	v_mul_f32_e32 v2, 0x2f800000, v1
	v_trunc_f32_e32 v2, v2
	v_fmac_f32_e32 v1, 0xcf800000, v2
	v_cvt_u32_f32_e32 v2, v2
	v_cvt_u32_f32_e32 v1, v1
"""
EXACT_DIVISION = """
	v_div_scale_f64 v[0:1], s[0:1], v[8:9], v[8:9], 1.0
	v_rcp_f64_e32 v[2:3], v[0:1]
	v_fma_f64 v[4:5], -v[0:1], v[2:3], 1.0
"""


def roles(text: str, target: str = "gfx942") -> list[Role]:
    return roles_of(instructions_of(text, TARGETS[target]))


@pytest.mark.parametrize("text", [DIVISION_OF_32_BITS, DIVISION_OF_64_BITS])
def test_integer_division(text):
    found = roles(text)
    opcodes = [line.split()[0] for line in text.strip().splitlines()]
    for opcode, role in zip(opcodes, found, strict=True):
        assert role is (Role.OWN if "cvt" in opcode else Role.INTEGER), opcode


@pytest.mark.parametrize("text", [DIVISION_OF_32_BITS, DIVISION_OF_64_BITS])
def test_a_reciprocal_of_a_float_is_no_integer_division(text):
    loaded = text.replace("v_cvt_f32_u32_e32 v1, s0", "global_load_dword v1, v8, s[0:1]")
    assert Role.INTEGER not in roles(loaded)[:4]


@pytest.mark.parametrize("text", [DIVISION_OF_32_BITS, DIVISION_OF_64_BITS])
def test_a_quotient_that_stays_a_float_is_no_integer_division(text):
    stored = text.replace("v_cvt_u32_f32_e32 v1, v1", "global_store_dword v8, v1, s[0:1]")
    assert roles(stored)[-2] is not Role.INTEGER


def test_exact_division():
    assert roles(EXACT_DIVISION)[1] is Role.EXACT
    assert roles(EXACT_DIVISION.replace("v_div_scale_f64", "v_add_f64"))[1] is Role.SEED


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("rcp.approx.ftz.f64 %fd2, %fd1;\nfma.rn.f64 %fd3, %fd1, %fd2, %fd4;", Role.SEED),
        ("rcp.approx.ftz.f64 %fd2, %fd1;\nmul.rn.f64 %fd3, %fd1, %fd2;", Role.OWN),
        ("rcp.approx.ftz.f64 %fd2, %fd1;\nst.global.b64 [ %rd1 ], %fd2;", Role.OWN),
        ("rcp.approx.ftz.f32 %f2, %f1;\nfma.rn.f32 %f3, %f1, %f2, %f4;", Role.OWN),
        ("cvt.rn.f32.f64 %f1, %fd1;\nst.global.b32 [ %rd1 ], %f1;", Role.OWN),
        ("cvt.rn.f32.f64 %f1, %fd1;\nmov.b32 %r1, %f1;\nshr.u32 %r2, %r1, 16;", Role.OWN),
        ("cvt.rn.f32.f64 %f1, %fd1;\ncvt.rn.bf16x2.f32 %r1, %f1, %f2;", Role.OWN),
        ("cvt.rn.f32.f64 %f1, %fd1;\ncvt.f64.f32 %fd2, %f1;", Role.NARROWED),
        ("cvt.rn.f32.f64 %f1, %fd1;\nselp.f32 %f2, %f1, %f3, %p1;\nadd.f32 %f4, %f2, %f3;", Role.NARROWED),
        ("cvt.rn.bf16x2.f32 %r1, %f1, %f2;\ncvt.f32.bf16 %f3, %r1;", Role.NARROWED),
        ("cvt.rn.f32.s32 %f1, %r1;\nadd.f32 %f4, %f1, %f3;", Role.OWN),
    ],
)
def test_nvidia(text, role):
    assert roles(text, "sm_90")[0] is role


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("v_cvt_f32_f64_e32 v1, v[2:3]\nglobal_store_dword v8, v1, s[0:1]", Role.OWN),
        ("v_cvt_f32_f64_e32 v1, v[2:3]\nv_cvt_f64_f32_e32 v[4:5], v1", Role.NARROWED),
        ("v_cvt_f32_f64 v1, v[2:3]\nv_cndmask_b32 v2, v1, v3, vcc\nv_mul_f32 v4, v2, v3", Role.NARROWED),
        ("v_cvt_pk_bf16_f32 v1, v2, v3\nglobal_store_dword v8, v1, s[0:1]", Role.OWN),
    ],
)
def test_amd(text, role):
    assert roles(text)[0] is role
