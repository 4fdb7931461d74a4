"""Powers of e as weights and logarithms to base two as lses: what differs from the ordinary pair of bases."""

import math

import pytest
import torch

from verify.oracle import Base, Enclosure, certify, escalate, evaluate, evaluate_plainly
from verify.oracle.dyadic import PrecisionError, to_units
from verify.oracle.natural import enclose, power
from verify.oracle.tests.bases import OTHERS, Bases
from verify.oracle.tests.rows import adversarial, packed
from verify.oracle.tests.seven import BFLOAT16, FLOAT32, FORMATS
from verify.oracle.tests.test_situations import merge, numbers
from verify.oracle.tests.test_tiers import compared, disagreements, special_merge
from verify.oracle.tests.test_witness import disputes

TWO, E = Base.TWO, Base.E
FAR = [-60.0, -1000.0, -1000000.0, -3e38]


def single(x: float) -> float:
    return float(torch.tensor(x, dtype=torch.float64).float())


@pytest.mark.parametrize("bases", OTHERS)
def test_tiers_agree_with_the_plain_oracle(bases, capsys):
    checks, wrong, tiers, _ = compared(1155, 41, bases)
    with capsys.disabled():
        print(f" {checks} values, {wrong} disagree ", end="")
    assert checks == 5775
    assert wrong == 0
    assert min(n for name, n in tiers.items() if name != "special") > 100, tiers


@pytest.mark.parametrize("bases", OTHERS)
@pytest.mark.parametrize("oracle", [evaluate, evaluate_plainly])
def test_oracles_agree_with_arb(oracle, bases, capsys):
    witness, wrong = disputes(462, 42, oracle, bases)
    with capsys.disabled():
        print(f" {witness.checks} values, {witness.doubts} exact, {len(wrong)} disputed ", end="")
    assert not wrong, wrong[0]
    assert witness.checks == 2310
    assert witness.doubts > 70


@pytest.mark.parametrize("bases", OTHERS)
@pytest.mark.parametrize("name", FORMATS)
def test_situations_are_those_of_the_ordinary_bases(name, bases):
    fmt = FORMATS[name]
    inputs = special_merge(sorted(FORMATS).index(name))
    got = evaluate(*inputs, fmt, FLOAT32, **bases._asdict())
    want = evaluate_plainly(*inputs, fmt, FLOAT32, **bases._asdict())
    ordinary = evaluate(*inputs, fmt, FLOAT32)
    for part in ("output", "lse"):
        assert not disagreements(getattr(got, part), getattr(want, part)).any()
        assert torch.equal(getattr(got, part).kind, getattr(ordinary, part).kind)
    assert got.tiers["special"] == ordinary.tiers["special"] > 500


def test_ordinary_rows():
    exact = merge([0, 1], [1, 1], [[1], [3]], base=E)
    assert numbers(exact) == [single((1 + 3 * math.e) / (1 + math.e))]
    assert exact.lse.rounded.item() == single(math.log(1 + math.e))
    exact = merge([0, 1], [1, 1], [[1], [3]], base=E, lse_base=TWO)
    assert exact.lse.rounded.item() == single(math.log2(1 + math.e))
    exact = merge([0, 1], [1, 1], [[1], [3]], lse_base=TWO)
    assert numbers(exact) == [single(7 / 3)]
    assert exact.lse.rounded.item() == single(math.log2(3))


def test_what_is_a_tie_in_base_two_is_none_in_base_e():
    """Σ o − 257/256·s is −2 and 1: with weights 1 and 2 it is 0, with 1 and e it is positive."""
    row = [0.0, 1.0], [256.0, 256.0], [[255.0], [258.0]], BFLOAT16
    assert numbers(merge(*row)) == [1.0]
    assert merge(*row).output.residual.item() == 0.5
    natural = merge(*row, base=E)
    assert numbers(natural) == [1 + 2.0**-7]
    want = (math.e - 2) / (256 + 256 * math.e) - 2.0**-8
    assert natural.output.residual.item() == pytest.approx(want * 2**7, abs=2.0**-12)


@pytest.mark.parametrize("last", [0, 1])
def test_ties_within_every_m_are_ties_in_base_e(last):
    ulp = 2.0**-23
    low, high = 1 + last * ulp, 1 + (last + 1) * ulp
    exact = merge([0.3, 0.3, -5.5, -5.5], [1.0] * 4, [[low], [high], [low], [high]], base=E)
    assert numbers(exact) == [high if last else low]
    assert exact.output.residual.item() == (-0.5 if last else 0.5)
    assert exact.tiers["exact"] == 1


def test_ties_of_one_m_are_decided_by_comparison():
    ulp = 2.0**-23
    exact = merge([-7.3, -7.3], [1.0, 1.0], [[1.0], [1 + ulp]], base=E)
    assert numbers(exact) == [1.0]
    assert exact.output.residual.item() == 0.5
    assert exact.tiers["comparison"] == 1


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_outputs_next_to_ties_powers_of_two_and_zero_in_base_e(far, direction):
    columns = [[257.0, 512.0, 0.0], [257.0 + direction, 512.0 + direction, 0.0 + direction]]
    exact = merge([0.5, 0.5 + far], [256.0, 256.0], columns, BFLOAT16, base=E)
    assert numbers(exact) == [1 + 2.0**-7 if direction > 0 else 1.0, 2.0, exact.output.rounded[0, 0, 2]]
    assert exact.output.residual[0, 0, 0].item() == pytest.approx(-0.5 if direction > 0 else 0.5, abs=2e-4)
    assert exact.output.exponent[0, 0, 1].item() == (0 if direction < 0 else 1)
    third = exact.output.rounded[0, 0, 2].item()
    assert third == pytest.approx(direction * math.exp(far) / 256, rel=2.0**-8, abs=2.0**-134)


def test_powers_of_e_are_those_of_a_finer_evaluation():
    for m in (0.0, 1.0, -1.0, 0.1, 2.0**-149, -700.3, 3e38, -3.4e38, 88.0, math.log(2)):
        fine, n = power(to_units(single(m)), 1024)
        for bits in (64, 192, 512):
            p, same = power(to_units(single(m)), bits)
            assert same == n
            assert 1 << bits <= p <= 2 << bits
            assert abs((p << (1024 - bits)) - fine) * 100 <= 101 << (1024 - bits)


def test_sums_of_powers_of_e_are_zero_only_by_every_m():
    def units(c: int, m: float) -> tuple[int, int]:
        return c, to_units(m)

    def found(*terms: float) -> Enclosure:
        pairs = zip(terms[::2], terms[1::2], strict=True)
        enclosure = enclose([units(int(c), m) for c, m in pairs], 1)
        assert enclosure is not None
        return enclosure

    assert enclose([], 1) is None
    assert enclose([units(1, 3e38), units(-1, 3e38)], 1) is None
    apart = [units(3, 1.0), units(1, -3e38), units(-2, 1.0), units(-1, 1.0), units(-1, -3e38)]
    assert enclose(apart, 9) is None
    assert found(2, 0.0, -1, 1.0).hi < 0  # 0 in base two
    assert found(1, 3e38, -1, 3e38, -3, -3e38).hi < 0
    n = 9
    nearly = enclose([((-1) ** j * math.comb(n, j), j) for j in range(n + 1)], 20)
    assert nearly is not None
    # |1 − e^(2^-149)| is about 2^-149
    assert nearly.lo.bit_length() + nearly.exponent == pytest.approx(-149 * n, abs=2)
    assert nearly.hi < 0


def test_beyond_the_cap_is_an_error_that_names_the_base(monkeypatch):
    monkeypatch.setattr("verify.oracle.dyadic.CAP", 1024)
    cases = [
        case for case in adversarial(220, 24, Bases(E, E)) if case.kind == "binomial" and len(case.m) > 12
    ]
    with pytest.raises(PrecisionError, match=r"more than 1024 bits wanted for the sum of c·e\^\("):
        evaluate(*packed(cases), BFLOAT16, FLOAT32, base=E)


@pytest.mark.parametrize("bases", OTHERS)
def test_helper_processes_are_told_the_bases(bases, monkeypatch):
    cases = [case for case in adversarial(660, 43, bases) if case.kind in ("far", "cancelling", "round lse")]
    inputs, asked = packed(cases), bases._asdict()
    want = evaluate(*inputs, BFLOAT16, BFLOAT16, processes=1, **asked)
    monkeypatch.setattr(escalate, "PARALLEL", 50)
    got = evaluate(*inputs, BFLOAT16, BFLOAT16, processes=2, **asked)
    assert got.tiers == want.tiers
    assert not disagreements(got.output, want.output).any()
    assert not disagreements(got.lse, want.lse).any()


@pytest.mark.gpu
@pytest.mark.parametrize("bases", OTHERS)
def test_a_gpu_gives_the_same(bases):
    for fmt in FORMATS.values():
        inputs = packed([case for case in adversarial(1540, 44, bases) if case.fmt == fmt])
        want = evaluate(*inputs, fmt, fmt, **bases._asdict())
        o, m, s, active = (x.cuda() for x in inputs)
        got = evaluate(o, m, s, active, fmt, fmt, **bases._asdict())
        for part in ("output", "lse"):
            found = type(want.lse)(**{name: x.cpu() for name, x in vars(getattr(got, part)).items()})
            assert not disagreements(found, getattr(want, part)).any()


@pytest.mark.parametrize(
    ("o", "lse_base", "want"),
    [
        ([1.0, 3.0], E, (1 + 3 * math.e) / (1 + math.e)),
        (None, E, math.log(1 + math.e)),
        (None, TWO, math.log2(1 + math.e)),
    ],
)
def test_certificates_name_their_bases(o, lse_base, want):
    found = certify([0.0, 1.0], [1.0, 1.0], o, FLOAT32, base=E, lse_base=lse_base)
    assert (found.base, found.lse_base) == (E, lse_base)
    assert found.enclosure is not None
    value = (found.enclosure.lo + found.enclosure.hi) / 2 * 2.0**found.enclosure.exponent
    assert value == pytest.approx(want, rel=1e-11, abs=0.0)
