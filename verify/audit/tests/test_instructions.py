"""Assembly is parsed into opcodes, registers and source lines."""

from verify.audit.instructions import NO_LINE, instructions_of
from verify.audit.targets import TARGETS

PTX = """
	.loc	1 20 0
	mov.u32 	%r1, %tid.x;
	.loc	1 44 30
	@%p3 ex2.approx.ftz.f32 	%f3, %f2; // comment; with a semicolon
	.loc	2 216 16, function_name $L__info_string0, inlined_at 1 43 11 // standard.py:216:16
	max.f32 	%f5, %f3, %f4;
	.loc	2 196 12, function_name $L__info_string0, inlined_at 2 216 16 // standard.py:196:12
	add.f32 	%f6, %f5, %f5;
	.loc	1 0 0
	ld.global.v4.b32 	{ %r2, %r3, %r4, %r5 }, [ %rd1 + 0 ];
	st.global.b32 	[ %rd2 + 0 ], { %r2 };
	.file	1 "/home/me/kernel.py"
	.file	2 "/lib/triton/language/standard.py"
"""
AMD = """
	.file	1 "/home/me" "kernel.py"
	.file	2 "/lib/triton/language" "standard.py"
	v_mov_b32_e32 v9, v8
	.loc	1 126 11 is_stmt 1              ; kernel.py:126:11
	v_rcp_f32_e32 v1, v1
	.loc	2 43 12                         ; standard.py:43:12 @[ segments.py:49:23 @[ kernel.py:170:43 ] ]
	v_fma_f64 v[2:3], v[4:5], s[6:7], -v[8:9]
	.loc	1 0 0 is_stmt 0                 ; :0:0
	v_dual_mul_f32 v1, v2, v3 :: v_dual_add_f32 v4, v5, v6
	v_fmac_f64_e32 v[2:3], v[4:5], v[6:7]
.LBB0_1:                                ; %loop
	global_store_dwordx2 v[0:1], v[2:3], off
"""


def test_ptx():
    found = instructions_of(PTX, TARGETS["sm_90"])
    assert [(i.opcode, i.place) for i in found] == [
        ("mov.u32", "kernel.py:20"),
        ("ex2.approx.ftz.f32", "kernel.py:44"),
        ("max.f32", "kernel.py:43"),
        ("add.f32", "kernel.py:43"),
        ("ld.global.v4.b32", "near kernel.py:43"),
        ("st.global.b32", "near kernel.py:43"),
    ]
    assert (found[1].made, found[1].taken) == (("%f3",), ("%f2", "%p3"))
    assert (found[4].made, found[4].taken) == (("%r2", "%r3", "%r4", "%r5"), ("%rd1",))
    assert (found[5].made, found[5].taken) == ((), ("%rd2", "%r2"))
    assert found[1].text == "ex2.approx.ftz.f32 \t%f3, %f2"


def test_amd():
    found = instructions_of(AMD, TARGETS["gfx942"])
    assert [(i.opcode, i.place) for i in found] == [
        ("v_mov_b32", NO_LINE),
        ("v_rcp_f32", "kernel.py:126"),
        ("v_fma_f64", "segments.py:49"),
        ("v_mul_f32", "near segments.py:49"),
        ("v_add_f32", "near segments.py:49"),
        ("v_fmac_f64", "near segments.py:49"),
        ("global_store_dwordx2", "near segments.py:49"),
    ]
    assert found[2].made == ("v2", "v3")
    assert found[2].taken == ("v4", "v5", "s6", "s7", "v8", "v9")
    assert found[5].taken == ("v4", "v5", "v6", "v7", "v2", "v3")
    assert (found[6].made, found[6].taken) == ((), ("v0", "v1", "v2", "v3"))
