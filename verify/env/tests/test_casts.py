"""Every rule of rounding is named where it is planted, by an implementation of its own."""

from __future__ import annotations

import pytest
import torch

from fuzz.formats import FORMATS, decode, encode
from verify.env.casts import OTHER, RULES, points
from verify.env.registry import PROBES
from verify.env.tests.engines import HONEST, ask, seen

FORMATS8 = [name for name, fmt in FORMATS.items() if fmt.bits == 8]


def truncate(x):
    """Cut float32s to bfloat16 by their bits."""
    return (x.view(torch.int32) & ~0xFFFF).view(torch.float32).bfloat16()


def away(x):
    """Round float32s to bfloat16, ties away from zero, by their bits."""
    return ((x.view(torch.int32) + 0x8000) & ~0xFFFF).view(torch.float32).bfloat16()


def once(x, into):
    """Round by exact integer arithmetic."""
    fmt = FORMATS[str(into).removeprefix("torch.")]
    codes = torch.tensor([encode(value, fmt) for value in x.double().tolist()])
    return codes.to(fmt.int_dtype).view(fmt.torch_dtype)


PLANTED = [
    ("float32 to float8_e4m3fn", "once, to nearest even", once),
    ("float64 to float8_e5m2", "once, to nearest even", once),
    ("float64 to float8_e4m3fnuz", "twice, by way of float32", lambda x, into: once(x.float(), into)),
    ("float32 to float8_e4m3fn", "twice, by way of float16", lambda x, into: once(x.half(), into)),
    ("float32 to float8_e5m2", "twice, by way of float16", lambda x, into: once(x.half(), into)),
    ("float32 to float8_e4m3fn", "twice, by way of bfloat16", lambda x, into: once(x.bfloat16(), into)),
    ("float32 to float8_e5m2fnuz", "twice, by way of bfloat16", lambda x, into: once(x.bfloat16(), into)),
    ("float32 to bfloat16", "truncated", lambda x, _: truncate(x)),
    ("float32 to bfloat16", "to nearest, ties away from zero", lambda x, _: away(x)),
    ("float64 to bfloat16", "to float32, then truncated", lambda x, _: truncate(x.float())),
    ("float64 to bfloat16", "to float32, then ties away from zero", lambda x, _: away(x.float())),
    ("float64 to float32", OTHER, lambda x, into: x.to(into) * (1 + 2.0**-22)),
    ("float32 to float16", OTHER, lambda x, into: x.to(into) + 1),
]


@pytest.mark.parametrize(("cast", "rule", "plant"), PLANTED)
def test_the_rule_is_named(cast, rule, plant):
    assert ask(f"rounding/{cast}", {"copy": plant}).answer == rule


def test_flushed_results_do_not_hide_the_rule_of_normal_ones():
    def flushing(x, _):
        return truncate(torch.where(x.abs() < 2.0**-126, torch.zeros_like(x), x))

    found = ask("rounding/float32 to bfloat16", {"copy": flushing})
    assert found.answer == "truncated, but for the subnormal range"


def test_the_carry_that_an_odd_exponent_swallows():
    """Join exponent and rounded significand of e5m2 by a bitwise or, as an interpreter does."""

    def joined(x, into):
        bits = x.view(torch.int32)
        rest = (bits & 0x7FFFFF) + (1 << 20)  # half of the last of two bits kept
        code = (((bits >> 23) & 0xFF) - 112 << 2) | (rest >> 21)
        code = torch.where(x.abs() < 2.0**-14, 0, code)  # no subnormals
        return (code | ((bits >> 24) & 0x80)).to(torch.uint8).view(into)

    found = ask("rounding/float32 to float8_e5m2", {"copy": joined})
    assert found.answer.startswith("to nearest, ties away from zero, the carry or-ed into the exponent")


def test_a_witness_is_a_point_that_is_rounded_wrongly():
    found = ask("rounding/float32 to float8_e4m3fn", {"copy": lambda x, into: once(x.half(), into)})
    shown = seen(found)
    assert shown.right is not None
    x = float.fromhex(shown.operands[0].hex)
    fmt = FORMATS["float8_e4m3fn"]
    assert shown.got != shown.right
    assert int(shown.right.bits, 16) == encode(x, fmt)
    assert 0 < found.measured["misrounded"] < found.measured["points"]


@pytest.mark.parametrize("cast", ["float32 to float16", "float64 to float32", "float64 to float8_e5m2"])
def test_points_hold_ties_and_their_neighbours_and_none_beyond_the_largest(cast):
    source, target = cast.split(" to ")
    fmt, x = FORMATS[target], points(source, target, 0)
    assert str(x.dtype) == f"torch.{source}"
    assert float(x.abs().max()) <= fmt.max_value
    apart = {decode(encode(value, fmt), fmt) - value for value in x.double().tolist()[:3000]}
    assert len(apart) > 2
    assert bool((x < 0).any())


def test_rules_differ_from_each_other_somewhere():
    """A rule that no point tells from another would be named in its place."""
    # By way of the format itself is once; so is by way of float32 from there, whatever follows.
    for source, target, alike in (("float64", "bfloat16", 1), ("float32", "float8_e4m3fn", 3)):
        x = points(source, target, 0).double()
        told = {tuple(rule(x, FORMATS[target]).tolist()) for rule in RULES.values()}
        assert len(told) == len(RULES) - alike


@pytest.mark.parametrize("name", FORMATS8)
def test_the_ends_of_fp8(name):
    fmt = FORMATS[name]

    def code(of):
        return {"copy": lambda x, into: torch.tensor([of(v) for v in x.tolist()]).to(torch.uint8).view(into)}

    right = code(lambda v: encode(v, fmt))
    for what, answer in (
        ("overflow", "the largest number"),
        ("infinite", "the largest number"),
        ("NaN", "NaN"),
    ):
        assert ask(f"{what}/float32 to {name}", right).answer == answer
    nan, one = code(lambda v: fmt.nan_code), code(lambda v: encode(1.0, fmt))
    for what in ("overflow", "infinite"):
        assert ask(f"{what}/float32 to {name}", nan).answer == "NaN"
    found = ask(f"NaN/float32 to {name}", one)
    assert found.answer == "another number"
    assert found.measured == {
        "code": f"0x{encode(1.0, fmt):02x}",
        "of the negative": f"0x{encode(1.0, fmt):02x}",
    }


def test_a_sign_that_is_lost_beyond_the_largest_is_told():
    def unsigned(x, into):
        return HONEST.compute("copy", x.abs(), into=into)

    assert ask("overflow/float32 to float16", {"copy": unsigned}).answer == "another number"


def test_every_cast_to_a_narrower_format_is_asked_of_both_wider_ones():
    pairs = {name.partition("/")[2] for name in PROBES if name.startswith("rounding/")}
    wanted = {f"{source} to {target}" for source in ("float32", "float64") for target in FORMATS}
    assert pairs == wanted - {"float32 to float32"}
    for what in ("overflow", "infinite", "NaN"):
        ends = {name.partition("/")[2] for name in PROBES if name.startswith(f"{what}/") and " to " in name}
        assert ends == pairs
