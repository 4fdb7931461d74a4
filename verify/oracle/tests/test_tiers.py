"""The vectorised tiers against the plain oracle, and against their own bounds."""

import math
import subprocess
import sys
import time

import pytest
import torch

from verify.oracle import Exact, ExactValues, Kind, cascade, dyadic, escalate, evaluate, evaluate_plainly
from verify.oracle.dyadic import PrecisionError
from verify.oracle.tests.bases import ORDINARY, PAIRS, Bases
from verify.oracle.tests.rows import adversarial, packed
from verify.oracle.tests.seven import BFLOAT16, E4M3FN, FLOAT32, FORMATS

NAN, INF = math.nan, math.inf


def disagreements(a: ExactValues, b: ExactValues) -> torch.Tensor:
    """Return where two answers differ; residuals may by what is promised of each."""
    rounded = (a.rounded == b.rounded) | (a.rounded.isnan() & b.rounded.isnan())
    close = (a.residual - b.residual).abs() <= 2.0**-12
    return ~(rounded & close & (a.kind == b.kind) & (a.exponent == b.exponent))


def compared(
    count: int, seed: int, bases: Bases = ORDINARY, *, oracle=evaluate
) -> tuple[int, int, dict[str, int], int]:
    """Compare the tiers with the plain oracle on `count` rows: checks, disagreements, tiers, bits.

    The lse is in float32; in other bases than the ordinary ones, where it may be a tie, in the row's format.
    """
    cases = adversarial(count, seed, bases)
    asked = bases._asdict()
    checks = wrong = bits = 0
    tiers: dict[str, int] = {}
    for fmt in FORMATS.values():
        inputs = packed([case for case in cases if case.fmt == fmt])
        lse_fmt = FLOAT32 if bases == ORDINARY else fmt
        got: Exact = oracle(*inputs, fmt, lse_fmt, **asked)
        want = evaluate_plainly(*inputs, fmt, lse_fmt, **asked)
        wrong += int(disagreements(got.output, want.output).sum() + disagreements(got.lse, want.lse).sum())
        checks += want.output.kind.numel() + want.lse.kind.numel()
        bits = max(bits, got.bits)
        for name, decided in got.tiers.items():
            tiers[name] = tiers.get(name, 0) + decided
    assert sum(tiers.values()) == checks
    return checks, wrong, tiers, bits


def test_tiers_agree_with_the_plain_oracle(capsys):
    started = time.perf_counter()
    checks, wrong, tiers, bits = compared(3600, seed=21)
    with capsys.disabled():
        print(f" {checks} values, {wrong} disagree, {time.perf_counter() - started:.1f} s ", end="")
    assert checks == 18000
    assert wrong == 0
    assert min(n for name, n in tiers.items() if name != "special") > 500, tiers
    assert bits > 149 * 15  # the binomial family


@pytest.mark.slow
@pytest.mark.parametrize("bases", PAIRS)
def test_tiers_agree_with_the_plain_oracle_at_length(bases, capsys):
    started = time.perf_counter()
    checks, wrong, tiers, _ = compared(40000, 22, bases)
    with capsys.disabled():
        print(f" {checks} values, {wrong} disagree, {tiers}, {time.perf_counter() - started:.1f} s ", end="")
    assert checks == 200000
    assert wrong == 0


def special_merge(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a merge of ordinary values with specials strewn over it, several heads and any `active`."""
    generator = torch.Generator().manual_seed(seed)

    def strew(x: torch.Tensor, values: list[float], share: float) -> torch.Tensor:
        hit = torch.rand(x.shape, generator=generator) < share
        chosen = torch.tensor(values)[torch.randint(len(values), x.shape, generator=generator)]
        return torch.where(hit, chosen, x)

    o = torch.randn(40, 3, 6, 33, generator=generator) * 100
    m = torch.randn(40, 3, 6, generator=generator) * 4
    s = torch.rand(40, 3, 6, generator=generator) * 9 + 1
    o[::2] = strew(o[::2], [NAN, INF, -INF, 3e38, 0.0], 0.02)
    m[::3] = strew(m[::3], [-INF, -INF, NAN, INF, -3e38, 3e38, -800.0], 0.2)
    s[::4] = strew(s[::4], [0.0, -0.0, NAN, INF, -1.0, -INF, 2.0**-149], 0.2)
    return o, m, s, torch.randint(0, 7, (40,), generator=generator)


@pytest.mark.parametrize("name", FORMATS)
def test_specials_agree_with_the_plain_oracle(name):
    fmt = FORMATS[name]
    inputs = special_merge(sorted(FORMATS).index(name))
    got, want = evaluate(*inputs, fmt, FLOAT32), evaluate_plainly(*inputs, fmt, FLOAT32)
    assert not disagreements(got.output, want.output).any()
    assert not disagreements(got.lse, want.lse).any()
    kinds = torch.bincount(want.output.kind.flatten().long(), minlength=3).tolist()
    assert kinds[Kind.NAN] > 100
    assert kinds[Kind.INFINITE] > 10 or fmt.saturates
    assert got.tiers["special"] > 500
    # finite neighbours of specials stay with the fast tiers
    assert got.tiers["float64"] > 0.7 * kinds[Kind.NUMBER] - got.tiers["special"]


def test_infinities_in_dead_segments_change_nothing():
    o, m, s, _ = special_merge(1)
    o, m, s = o.nan_to_num(1, 1, 1), m.nan_to_num(0, 0, 0).clamp(-9, 9), s.nan_to_num(1, 1, 1).abs() + 1
    active = torch.full((40,), 4)
    want = evaluate(o, m, s, active, FLOAT32, FLOAT32)
    o[:, :, 4:], m[:, :, 5], s[:, :, 4] = NAN, INF, -1.0
    got = evaluate(o, m, s, active, FLOAT32, FLOAT32)
    for part in ("output", "lse"):
        for name in ("kind", "rounded", "residual", "exponent"):
            assert torch.equal(getattr(getattr(got, part), name), getattr(getattr(want, part), name))


def test_any_strides_give_the_same():
    o, m, s, active = special_merge(3)
    want = evaluate(o, m, s, active, BFLOAT16, FLOAT32)
    other = (
        o.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
        m.transpose(0, 2).contiguous().transpose(0, 2),
        torch.stack((s, s), -1)[..., 0],
        active.to(torch.int32),
    )
    got = evaluate(*other, BFLOAT16, FLOAT32)
    assert not disagreements(got.output, want.output).any()
    assert not disagreements(got.lse, want.lse).any()
    one = torch.ones(1, 1, 1)
    wide = evaluate(
        one[..., None].expand(3, 5, 4, 7), one.expand(3, 5, 4), one.expand(3, 5, 4), torch.tensor([4, 2, 0]),
        BFLOAT16, FLOAT32,
    )  # fmt: skip
    assert wide.output.rounded[:2].unique().tolist() == [1.0]
    assert wide.output.rounded[2].unique().tolist() == [0.0]


@pytest.mark.parametrize(("block", "chunk", "singles", "pending"), [(6, 1, 1, 1), (40, 500, 64, 1 << 20)])
def test_cutting_into_chunks_changes_nothing(block, chunk, singles, pending, monkeypatch):
    inputs = special_merge(4)
    want = evaluate(*inputs, E4M3FN, FLOAT32)
    for name, size in (("BLOCK", block), ("CHUNK", chunk), ("PICKED", singles)):
        monkeypatch.setitem(getattr(cascade, name), "cpu", size)
    monkeypatch.setattr(cascade, "PENDING", pending)
    calls = []
    got = evaluate(*inputs, E4M3FN, FLOAT32, progress=lambda done, rows: calls.append((done, rows)))
    assert not disagreements(got.output, want.output).any()
    assert not disagreements(got.lse, want.lse).any()
    assert got.tiers == want.tiers
    assert calls[-1] == (120, 120)
    assert calls == sorted(calls)
    assert len(calls) > 1


def test_threads_of_torch_are_given_back():
    before = torch.get_num_threads()
    evaluate(*special_merge(5), BFLOAT16, FLOAT32)
    assert torch.get_num_threads() == before


def test_flushed_subnormals_are_refused():
    if not torch.set_flush_denormal(True):
        return  # a processor that cannot flush cannot err so
    try:
        with pytest.raises(RuntimeError, match=r"set_flush_denormal\(False\)"):
            evaluate(*special_merge(6), FLOAT32, FLOAT32)
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.gpu
def test_a_gpu_gives_the_same():
    for fmt in FORMATS.values():
        inputs = packed([case for case in adversarial(2100, seed=26) if case.fmt == fmt])
        want = evaluate(*inputs, fmt, FLOAT32)
        o, m, s, active = (x.cuda() for x in inputs)
        got = evaluate(o, m, s, active, fmt, FLOAT32)
        for part in ("output", "lse"):
            found = ExactValues(**{name: x.cpu() for name, x in vars(getattr(got, part)).items()})
            assert not disagreements(found, getattr(want, part)).any()


def test_helper_processes_give_the_same(monkeypatch):
    cases = [case for case in adversarial(300, seed=23) if case.kind in ("binomial", "far", "cancelling")]
    inputs = packed(cases)
    want = evaluate(*inputs, BFLOAT16, FLOAT32, processes=1)
    started = []
    begin = escalate._Helper.__init__

    def counted(self, tasks, formats):
        started.append(len(tasks))
        begin(self, tasks, formats)

    monkeypatch.setattr(escalate._Helper, "__init__", counted)
    monkeypatch.setattr(escalate, "PARALLEL", 50)
    got = evaluate(*inputs, BFLOAT16, FLOAT32, processes=3)
    assert len(started) == 2
    assert min(started) > 10
    assert got.tiers == want.tiers
    assert got.bits == want.bits
    assert not disagreements(got.output, want.output).any()
    assert not disagreements(got.lse, want.lse).any()


def test_a_helper_that_fails_is_an_error(monkeypatch, capfd):
    monkeypatch.setattr(escalate, "PARALLEL", 1)
    good = escalate.Task(m=[0.0], s=[1.0], columns=[[1.0]])
    broken = escalate.Task(m=[], s=[], columns=[[]])
    with pytest.raises(RuntimeError, match="helper process of the exact tier ended with status 1"):
        escalate.answer_all([good, broken], FLOAT32, FLOAT32, 2)
    assert "Traceback" in capfd.readouterr().err


def test_beyond_the_cap_is_an_error_that_names_the_case(monkeypatch):
    monkeypatch.setattr(dyadic, "CAP", 1024)
    cases = [case for case in adversarial(200, seed=24) if case.kind == "binomial" and len(case.m) > 12]
    with pytest.raises(PrecisionError, match=r"more than 1024 bits wanted for the sum .* in \[\("):
        evaluate(*packed(cases), BFLOAT16, FLOAT32)


MEMORY = """
import resource, torch
from verify.oracle import evaluate
from verify.oracle.tests.seven import FLOAT32
{inputs}
exact = evaluate(o, m, s, torch.full((o.shape[0],), o.shape[2]), FLOAT32, FLOAT32, processes=1)
assert sum(exact.tiers.values()) == exact.output.kind.numel() + exact.lse.kind.numel()
print(o.numel(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("t", "h", "s", "r"), [(96, 16, 128, 512), (1500, 128, 1, 521), (1, 1, 2, 50_000_000)]
)
def test_memory_stays_bounded_at_a_hundred_million_partials(t, h, s, r):
    inputs = f"o = torch.rand({t}, {h}, {s}, {r}); m = torch.rand({t}, {h}, {s}); s = m + 1"
    command = [sys.executable, "-c", MEMORY.format(inputs=inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    partials, kilobytes = map(int, done.stdout.split())
    assert partials > 99_000_000
    assert kilobytes < 4_000_000
