"""The plain oracle against Arb, an independent code base, on adversarial rows."""

import time
from dataclasses import replace

import pytest
from flint import arb, ctx

from verify.oracle import Exact, ExactValues, Kind, Value, certify, evaluate, evaluate_plainly
from verify.oracle.dyadic import enclose, to_units
from verify.oracle.exact import Row
from verify.oracle.situations import merge_row
from verify.oracle.tests.arb import Witness, power, weighted
from verify.oracle.tests.bases import ORDINARY, PAIRS, Bases
from verify.oracle.tests.rows import COLUMNS, adversarial, packed
from verify.oracle.tests.seven import FLOAT32, FORMATS

HAIR = arb("1e-300")


def records(values: ExactValues) -> list[Value]:
    fields = (values.kind, values.rounded, values.residual, values.exponent)
    return [
        Value(kind=Kind(k), rounded=r, residual=d, exponent=e)
        for k, r, d, e in zip(*(field.flatten().tolist() for field in fields), strict=True)
    ]


def disputes(count: int, seed: int, oracle, bases: Bases = ORDINARY) -> tuple[Witness, list[object]]:
    """Let Arb check what an oracle says of `count` rows; return the witness and what it disputes."""
    witness = Witness(*bases)
    wrong: list[object] = []
    cases = adversarial(count, seed, bases)
    for fmt in FORMATS.values():
        chosen = [case for case in cases if case.fmt == fmt]
        lse_fmt = FLOAT32 if bases == ORDINARY else fmt
        exact: Exact = oracle(*packed(chosen), fmt, lse_fmt, **bases._asdict())
        output, lse = records(exact.output), records(exact.lse)
        for i, case in enumerate(chosen):
            for j, column in enumerate(case.columns):
                value = output[COLUMNS * i + j]
                if fault := witness.output(value, column, case.s, case.m, fmt):
                    wrong.append((case, column, value, fault))
            if fault := witness.lse(lse[i], case.s, case.m, lse_fmt):
                wrong.append((case, lse[i], fault))
    return witness, wrong


@pytest.mark.parametrize("oracle", [evaluate, evaluate_plainly])
def test_oracles_agree_with_arb(oracle, capsys):
    started = time.perf_counter()
    witness, wrong = disputes(2000, 1, oracle)
    elapsed = time.perf_counter() - started
    with capsys.disabled():
        print(
            f" {witness.checks} values, {witness.doubts} exact, {len(wrong)} disputed, {elapsed:.1f} s ",
            end="",
        )
    assert not wrong, wrong[0]
    assert witness.checks == 10000
    assert witness.doubts > 100  # ties, zeros and representable results were among them


@pytest.mark.slow
@pytest.mark.parametrize("bases", PAIRS)
def test_tiers_agree_with_arb_at_length(bases, capsys):
    started = time.perf_counter()
    witness, wrong = disputes(20000, 11, evaluate, bases)
    elapsed = time.perf_counter() - started
    with capsys.disabled():
        print(
            f" {witness.checks} values, {witness.doubts} exact, {len(wrong)} disputed, {elapsed:.1f} s ",
            end="",
        )
    assert not wrong, wrong[0]
    assert witness.checks == 100000


def test_witness_notices_wrong_claims():
    noticed = {"rounded": 0, "residual": 0, "exponent": 0}
    for case in adversarial(84, seed=2):
        value = merge_row(case.m, case.s, case.columns[:1], case.fmt, FLOAT32).output[0]
        ulp = 2.0 ** (value.exponent - case.fmt.precision + 1)
        if abs(value.rounded) >= case.fmt.max_value:
            continue
        for name, claim in {
            "rounded": replace(value, rounded=value.rounded + ulp, residual=value.residual - 1),
            "residual": replace(value, residual=value.residual + 2.0**-11),
            "exponent": replace(value, exponent=value.exponent + 1, residual=value.residual / 2),
        }.items():
            fault = Witness().output(claim, case.columns[0], case.s, case.m, case.fmt)
            assert fault is not None, (name, value, case)
            noticed[name] += 1
    assert min(noticed.values()) > 40


@pytest.mark.parametrize("name", FORMATS)
def test_enclosures_hold_what_arb_encloses(name):
    fmt = FORMATS[name]
    for case in adversarial(60, seed=3):
        row = Row(case.m, case.s)
        for column in case.columns:
            units = [to_units(x) for x in column]
            for exact in (False, True):
                found = row.enclose_output(units, fmt, exact)
                if found is None:
                    continue
                ctx.prec = 3200
                y = weighted(column, case.m) / weighted(case.s, case.m) * arb(2) ** -found.exponent
                assert arb(found.lo) - HAIR < y  # the ends may be exact
                assert y < arb(found.hi) + HAIR
    ctx.prec = 53


@pytest.mark.parametrize("bits", [100, 500])
def test_lse_enclosures_hold_what_arb_encloses(bits):
    for case in adversarial(60, seed=4):
        found = Row(case.m, case.s).enclose_lse(bits)
        if found is None:
            continue
        ctx.prec = 4000
        lse = weighted(case.s, case.m).log() * arb(2) ** -found.exponent
        assert found.lo < lse
        assert lse < found.hi
        assert found.hi - found.lo <= abs(found.hi) >> (bits - 8)
    ctx.prec = 53


def test_a_perturbation_of_a_million_bits():
    m = [0.5, -1000000.25]
    enclosure = enclose([(1, to_units(m[0])), (-1, to_units(m[0])), (3, to_units(m[1]))], 60)
    assert enclosure is not None
    ctx.prec = 200
    value = arb(3) * power(m[1]) * arb(2) ** -enclosure.exponent
    ctx.prec = 53
    assert enclosure.lo < value
    assert value < enclosure.hi


def read(text: str) -> arb:
    """Return a C hexadecimal float exactly."""
    numerator, denominator = float.fromhex(text).as_integer_ratio()
    return arb(numerator) / denominator


def test_certificates_hold_by_their_text_alone():
    claims = zeros = 0
    for case in adversarial(90, seed=5):
        for column in (*case.columns, None):
            certificate = certify(case.m, case.s, column, case.fmt)
            m, s = [float.fromhex(x) for x in certificate.m], [read(x) for x in certificate.s]
            ctx.prec = 4000
            value = sum((a * power(x) for a, x in zip(s, m, strict=True)), arb(0))
            if certificate.o is None:
                value = value.log()
            else:
                o = [read(x) for x in certificate.o]
                value = sum((a * power(x) for a, x in zip(o, m, strict=True)), arb(0)) / value
            if certificate.enclosure is None:
                assert value.contains(0)
                assert str(certificate) == "exactly 0"
                zeros += 1
                continue
            scaled = value * arb(2) ** -certificate.enclosure.exponent
            assert arb(certificate.enclosure.lo) - HAIR < scaled
            assert scaled < arb(certificate.enclosure.hi) + HAIR
            assert f"proved with {certificate.enclosure.bits} bits" in str(certificate)
            claims += 1
    ctx.prec = 53
    assert claims > 350
    assert zeros > 5


@pytest.mark.parametrize(
    ("m", "s", "o", "reason"),
    [
        ([float("-inf")], [1.0], [1.0], "no live segment"),
        ([0.0], [-1.0], [1.0], "whole row NaN"),
        ([0.0], [1.0], [float("inf")], "not finite"),
    ],
)
def test_certificates_are_refused_where_no_arithmetic_decides(m, s, o, reason):
    with pytest.raises(ValueError, match=reason):
        certify(m, s, o, FLOAT32)
