"""The bounds of statistics and lses of other bases."""

import math

import pytest
import torch

from fuzz.families import DRAWN
from verify.bounds import load_bounds, second_terms
from verify.bounds.float32 import Float32Bounds
from verify.campaign.jobs import Job, Stream
from verify.campaign.trial import Bench
from verify.oracle import Base
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import recast
from verify.subjects.tests.peer_kernels import flash_attention
from verify.subjects.tests.test_convention import CASES, RICH, case_of, subject

M, S, O = [0.5, -3.25, -10.0], [1.5, 2.0, 7.0], [3.0, -1.0, 8.0]  # noqa: E741


def terms(spec, base, lse_base, *, m=tuple(M), s=tuple(S), o=tuple(O)):
    found = second_terms(case_of(m, s, [[x] for x in o]), load_bounds(spec).of(base, lse_base))
    return float(found.output), float(found.lse)


@pytest.mark.parametrize("base", Base)
def test_the_second_terms_of_a_float64_merge_follow_their_formula(base):
    power = {Base.TWO: 2.0, Base.E: math.e}[base]
    w = [power ** (x - max(M)) for x in M]
    den = sum(a * b for a, b in zip(S, w, strict=True))
    loss = [2.0**-53 * (3 + 16 + abs(x - max(M))) for x in M]
    output = sum(e * abs(o) * v for e, o, v in zip(loss, O, w, strict=True)) / den
    lse = sum(e * s * v for e, s, v in zip(loss, S, w, strict=True)) / den
    assert terms("default", base, Base.E) == pytest.approx((output, lse), rel=1e-12, abs=0.0)
    assert terms("default", base, Base.TWO)[1] == pytest.approx(lse / math.log(2), rel=1e-12, abs=0.0)
    assert terms("default", base, None)[1] == math.inf


@pytest.mark.parametrize(
    ("base", "per_gap", "nats"), [(Base.TWO, math.log(2), math.log(2)), (Base.E, 3.0, 1.0)]
)
def test_the_second_terms_of_a_float32_merge_follow_their_formula(base, per_gap, nats):
    bounds = load_bounds("fp32")
    assert isinstance(bounds, Float32Bounds)
    backend = bounds.on(torch.device("cpu"))
    a, c = math.ceil(3 + 2 * backend.exp2), math.ceil(2 * backend.log2 + 2)
    power = {Base.TWO: 2.0, Base.E: math.e}[base]
    w = [power ** (x - max(M)) for x in M]
    den = sum(s * v for s, v in zip(S, w, strict=True))
    of_mass = sum((3 + a + per_gap * abs(x - max(M))) * s * v for x, s, v in zip(M, S, w, strict=True)) / den
    wanted = 2.0**-24 * (of_mass + 2 * max(M) * nats + c * abs(math.log(den)))
    assert terms("fp32", base, Base.E)[1] == pytest.approx(wanted, rel=1e-9, abs=0.0)


def test_a_weight_vanishes_in_float32_at_another_gap_in_base_e():
    # e^-88 is below 2^-126, 2^-88 is not.
    case = case_of([0.0, -88.0], [1.0, 1e37], [[1.0], [1.0]])
    lost = second_terms(case, load_bounds("fp32").of(Base.E, Base.E))
    assert lost.out_of_domain == {"weights that vanish in float32 carry mass": 1}
    assert second_terms(case, load_bounds("fp32")).out_of_domain == {}


def test_an_lse_that_is_the_only_statistic_is_granted_no_second_term():
    for lse_base in Base:
        assert terms("default", Base.E, lse_base, m=(0.3,), s=(1.0,), o=(1.0,))[1] == 0.0
        assert terms("default", Base.E, lse_base, m=(3.0,), s=(2.0,), o=(1.0,))[1] > 0.0


class Float32States:
    """Merge states of natural lse in float32, e^x as 2^(x·log2 e) as a GPU does."""

    def __init__(self, bits=24):
        self._bits = bits

    def __call__(self, o, m, s, lengths, tile, dtype):
        top = torch.where(m == -torch.inf, -torch.inf, m).amax(-1)
        shift = torch.where(top == -torch.inf, 0.0, top)
        w = torch.exp2((m - shift[..., None]) * torch.tensor(1.4426950408889634))
        if self._bits == 8:
            w = w.bfloat16().float()
        num, den = torch.zeros_like(o[:, :, 0]), torch.zeros_like(top)
        for i in range(m.shape[-1]):
            part = torch.where((m[..., i] == -torch.inf)[..., None], 0.0, o[:, :, i])
            num, den = num + w[..., i, None] * part, den + w[..., i]
        y = torch.where((den == 0)[..., None], 0.0, num / den[..., None])
        y = torch.where(top.isposinf()[..., None] | top.isnan()[..., None], torch.nan, y)
        lse = torch.where(top == -torch.inf, top, torch.where(top.isposinf(), torch.nan, shift + den.log()))
        limit = torch.finfo(dtype).max
        if dtype.itemsize == 1:
            y = torch.where(y.isnan(), y, y.clamp(-limit, limit))
        return y.to(dtype), lse


def judged(merge, case):
    kernel = flash_attention(merge)
    job = Job(name="1/1", input=case, stream=Stream.DRAWN, laws=(), seed=3)
    return Bench(subject("flash_attention_combine", kernel), load_bounds("fp32")).run(job, case)


@pytest.mark.parametrize("family", DRAWN)
def test_an_honest_float32_merge_of_natural_states_is_within_the_float32_bounds(family):
    outcome = judged(Float32States(), CASES[family])
    assert outcome.faults == ()


def test_a_merge_with_bfloat16_weights_is_not():
    case = recast(RICH, CONVENTIONS["flash_attention_combine"])
    assert judged(Float32States(), case).faults == ()
    assert {fault.result for fault in judged(Float32States(bits=8), case).faults} == {"output", "lse"}
