"""The tables say of each opcode what its maker's manual says."""

import math

import pytest

from verify.audit.amd import AMD
from verify.audit.documented import Kind, Paid
from verify.audit.nvidia import NVIDIA

BY_HAND = [
    (NVIDIA, "ex2.approx.ftz.f32", Kind.TRANSCENDENTAL, 24, 2.0, Paid.EXP2),
    (NVIDIA, "lg2.approx.f32", Kind.TRANSCENDENTAL, 24, math.inf, None),
    (NVIDIA, "div.full.f32", Kind.DIVISION, 24, 2.0, Paid.DIVISION),
    (NVIDIA, "div.rn.f64", Kind.DIVISION, 53, 0.5, None),
    (NVIDIA, "div.rn.f32", Kind.DIVISION, 24, 0.5, None),
    (NVIDIA, "div.approx.ftz.f32", Kind.DIVISION, 24, math.inf, None),
    (NVIDIA, "rcp.approx.ftz.f64", Kind.DIVISION, 20, math.inf, None),
    (NVIDIA, "cvt.rn.f32.f64", Kind.CONVERSION, 0, 0.5, None),
    (NVIDIA, "cvt.rz.f32.f64", Kind.CONVERSION, 0, 1.0, None),
    (NVIDIA, "cvt.rzi.s32.f32", Kind.CONVERSION, 0, 0.0, None),
    (NVIDIA, "cvt.rmi.f64.f64", Kind.CONVERSION, 0, 0.0, None),
    (NVIDIA, "cvt.rn.bf16x2.f32", Kind.CONVERSION, 0, 0.5, None),
    (NVIDIA, "cvt.rn.satfinite.e4m3x2.f32", Kind.CONVERSION, 0, 0.5, None),
    (NVIDIA, "max.NaN.f32", Kind.CLAMP, 0, 0.0, None),
    (NVIDIA, "redux.sync.max.f32", Kind.CLAMP, 0, 0.0, None),
    (NVIDIA, "fma.rn.f64", Kind.ARITHMETIC, 53, 0.5, None),
    (NVIDIA, "add.f32", Kind.ARITHMETIC, 24, 0.5, None),
    (NVIDIA, "fma.rn.bf16x2", Kind.ARITHMETIC, 11, 0.5, None),
    (AMD, "v_exp_f32", Kind.TRANSCENDENTAL, 24, 1.0, Paid.EXP2),
    (AMD, "v_log_f32", Kind.TRANSCENDENTAL, 24, 1.0, Paid.LOG2),
    (AMD, "v_s_rcp_f32", Kind.DIVISION, 24, 1.0, Paid.DIVISION),
    (AMD, "v_div_fixup_f64", Kind.DIVISION, 53, 0.5, None),
    (AMD, "v_rcp_f64", Kind.DIVISION, 24, math.inf, None),
    (AMD, "v_cvt_f32_f64", Kind.CONVERSION, 0, 0.5, None),
    (AMD, "v_cvt_pk_bf16_f32", Kind.CONVERSION, 0, 0.5, None),
    (AMD, "v_med3_f32", Kind.CLAMP, 0, 0.0, None),
    (AMD, "v_max_num_f64", Kind.CLAMP, 0, 0.0, None),
    (AMD, "v_maximum_f32", Kind.CLAMP, 0, 0.0, None),
    (AMD, "v_pk_fma_f32", Kind.ARITHMETIC, 24, 0.5, None),
    (AMD, "v_fmac_f64", Kind.ARITHMETIC, 53, 0.5, None),
]
NOT_FLOATING = [
    (NVIDIA, "ld.global.v4.f32"),
    (NVIDIA, "setp.lt.f32"),
    (NVIDIA, "selp.f64"),
    (NVIDIA, "mov.f32"),
    (NVIDIA, "neg.f64"),
    (NVIDIA, "add.s32"),
    (NVIDIA, "max.s32"),
    (NVIDIA, "div.s64"),
    (AMD, "v_cmp_gt_f32"),
    (AMD, "v_cndmask_b32"),
    (AMD, "v_frexp_exp_i32_f64"),
    (AMD, "v_pack_b32_f16"),
    (AMD, "v_mul_lo_u32"),
    (AMD, "v_max_i32"),
    (AMD, "global_load_dwordx4"),
]


@pytest.mark.parametrize(("table", "opcode", "kind", "bits", "ulp", "paid"), BY_HAND)
def test_opcodes(table, opcode, kind, bits, ulp, paid):
    assert table.is_floating(opcode)
    line = table.instruction(opcode)
    assert (line.kind, line.bits, line.ulp, line.paid) == (kind, bits, ulp, paid)
    assert line.source


@pytest.mark.parametrize(("table", "opcode"), NOT_FLOATING)
def test_what_computes_with_no_floats_needs_no_line(table, opcode):
    assert not table.is_floating(opcode)


@pytest.mark.parametrize(("table", "opcode"), [(NVIDIA, "ex3.approx.f32"), (AMD, "v_gamma_f32")])
def test_an_opcode_that_nobody_documented_is_noticed(table, opcode):
    assert table.is_floating(opcode)
    assert table.instruction(opcode) is None


def test_every_exponential_logarithm_reciprocal_and_root_of_float32_flushes_on_amd():
    flushing = {"v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rsq_f32", "v_sqrt_f32", "v_s_exp_f32", "v_mad_f32"}
    others = {"v_add_f32", "v_rcp_f64", "v_fma_f64", "v_cvt_f32_f64", "v_div_fixup_f32"}
    lines = {opcode: AMD.instruction(opcode) for opcode in flushing | others}
    assert {opcode for opcode, line in lines.items() if line and line.flushes} == flushing
    assert None not in lines.values()


@pytest.mark.parametrize("table", [NVIDIA, AMD])
def test_what_is_off_by_more_than_a_rounding_says_how_much_and_why(table):
    for line in (*table.instructions, *table.functions):
        assert line.note, line.pattern
        assert line.ulp in (0.0, 0.5, 1.0, 2.0, 2.2, math.inf), line.pattern
        if line.paid:
            assert 0.5 < line.ulp < math.inf, line.pattern
