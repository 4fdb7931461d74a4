"""The plain oracle against Arb, an independent code base, on adversarial rows."""

from dataclasses import replace

import pytest
from flint import arb, ctx

from verify.oracle.dyadic import enclose, to_units
from verify.oracle.exact import Row
from verify.oracle.situations import merge_row
from verify.oracle.tests.arb import Witness, power_of_two, weighted
from verify.oracle.tests.rows import KINDS, adversarial
from verify.oracle.tests.seven import FLOAT32, FORMATS

HAIR = arb("1e-300")


def test_plain_oracle_agrees_with_arb(capsys):
    witness, wrong = Witness(), []
    kinds = dict.fromkeys(KINDS, 0)
    for case in adversarial(2000, seed=1):
        kinds[case.kind] += 1
        row = merge_row(case.m, case.s, case.columns, case.fmt, FLOAT32)
        for column, value in zip(case.columns, row.output, strict=True):
            if fault := witness.output(value, column, case.s, case.m, case.fmt):
                wrong.append((case, column, value, fault))
        if fault := witness.lse(row.lse, case.s, case.m, FLOAT32):
            wrong.append((case, case.s, row.lse, fault))
    with capsys.disabled():
        print(f" {witness.checks} values, {witness.doubts} exact, {len(wrong)} disagreements ", end="")
    assert not wrong, wrong[0]
    assert witness.checks == 10000
    assert witness.doubts > 100  # ties, zeros and representable results were among them
    assert min(kinds.values()) > 300


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
    value = arb(3) * power_of_two(m[1]) * arb(2) ** -enclosure.exponent
    ctx.prec = 53
    assert enclosure.lo < value
    assert value < enclosure.hi
