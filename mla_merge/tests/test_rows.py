"""A row's bits depend on the row alone: not on its neighbours, the blocks, the strides or history."""

from dataclasses import replace

import pytest
import torch

from mla_merge import launcher
from mla_merge import plan as plans
from mla_merge.plan import plan
from mla_merge.tests.rows import NAN, merge, random_partials, same_bits


@pytest.mark.parametrize(("segments", "rank"), [(1, 1), (24, 80), (65, 448), (130, 576), (16, 1)])
def test_one_row_alone(segments, rank, device):
    o, m, s, lens = random_partials(5, 3, segments, rank, device, seed=rank)
    whole = merge((o, m, s, lens), torch.float32)
    assert same_bits(whole, merge((o, m, s, lens), torch.float32))
    for t, h in ((0, 0), (2, 1), (4, 2)):
        one = (slice(t, t + 1), slice(h, h + 1))
        alone = merge((o[one], m[one], s[one], lens[t : t + 1]), torch.float32)
        assert same_bits(alone, [x[one] for x in whole])


def test_more_rows_than_a_program_takes(device):
    inputs = random_partials(150, 3, 2, 448, device)
    chosen = plan(450, 2, 448, aligned=True, interpreted=device.type == "cpu")
    assert chosen.grid[0] > 1
    whole = merge(inputs, torch.bfloat16)
    parts = [merge([x[cut] for x in inputs], torch.bfloat16) for cut in (slice(0, 70), slice(70, 150))]
    assert same_bits(whole, [torch.cat([a, b]) for a, b in zip(*parts, strict=True)])


REGIMES = [
    *(plans.STREAM, plans.EAGER_STREAM, plans.HALVES, plans.DEEP_HALVES, plans.QUARTERS),
    *(plans.SLICES, plans.LONG_SLICES, plans.WHOLE_16, plans.WHOLE_32, plans.WHOLE_64, plans.STRIPS),
    plans.Regime(block_r=32, step=1, eager=False, prefetch=True, evict=""),
]


def planned(monkeypatch, device, **changes):
    """Make the launcher plan otherwise; one row a program means the weights are spread over a warp."""

    def other(rows, segments, rank, *, aligned, interpreted):
        chosen = replace(plan(rows, segments, rank, aligned=aligned, interpreted=interpreted), **changes)
        block_r = chosen.regime.block_r
        return replace(chosen, grid=(-(-rows // chosen.rows), -(-rank // block_r)))

    monkeypatch.setattr(launcher, "plan", other)


@pytest.mark.parametrize("segments", [40, 24, 16])
@pytest.mark.parametrize(("dtype", "rank"), [(torch.float32, 37), (torch.bfloat16, 40)], ids=str)
def test_regimes_change_nothing(dtype, rank, segments, device, monkeypatch):
    """What the interpreter runs for many rows, and what each regime of a device runs, to the bit."""
    inputs = random_partials(3, 2, segments, rank, device)
    active = segments - 5  # of 40, past a warp's 32 weights, and not a multiple of any step
    inputs[3].fill_(4 * active)
    inputs[3][0], inputs[3][2] = 4 * 7, 0
    for x in inputs[:3]:  # what was never written must not be felt, though it may be loaded
        x[0, :, 7:], x[1, :, active:], x[2] = NAN, float("inf"), NAN
    whole = merge(inputs, dtype)
    for regime in REGIMES:
        if regime.whole and regime.step < segments:
            continue
        with monkeypatch.context() as patch:
            block_s = plans.surveyed(segments, regime)
            planned(patch, device, rows=1, block_s=block_s, regime=regime, spread=True)
            assert same_bits(whole, merge(inputs, dtype)), regime


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_rows_of_a_program_change_nothing(rows, device, monkeypatch):
    inputs = random_partials(3, 2, 40, 24, device)
    whole = merge(inputs, torch.float16)
    for block_r, block_s in ((8, 64), (32, 64), (32, 128)):
        regime = plans.Regime(block_r=block_r, step=1, eager=False, prefetch=False, evict="")
        with monkeypatch.context() as patch:
            planned(patch, device, rows=rows, block_s=block_s, regime=regime, spread=False)
            assert same_bits(whole, merge(inputs, torch.float16)), (block_r, block_s)


def test_permuted_rows(device):
    o, m, s, lens = random_partials(6, 4, 8, 5, device, seed=3)
    t, h = (torch.tensor(order, device=device) for order in ([3, 5, 0, 2, 1, 4], [2, 0, 3, 1]))
    output, lse = merge((o, m, s, lens), torch.bfloat16)
    moved = merge((o[t][:, h], m[t][:, h], s[t][:, h], lens[t]), torch.bfloat16)
    assert same_bits(moved, (output[t][:, h], lse[t][:, h]))


def test_inactive_tail_and_empty_segments_may_hold_anything(device):
    o, m, s, lens = random_partials(6, 4, 8, 5, device, seed=4)
    lens.fill_(3)
    m[:, :, 1], s[:, :, 1], o[:, :, 1] = 0.0, 0.0, 0.0
    whole = merge((o, m, s, lens), torch.float32, tile=1)
    for junk in (NAN, float("inf"), -1.0):
        m[:, :, 3:], s[:, :, 3:], o[:, :, 3:] = junk, junk, junk
        m[:, :, 1], s[:, :, 1], o[:, :, 1] = float("-inf"), junk, junk
        assert same_bits(whole, merge((o, m, s, lens), torch.float32, tile=1))


def odd_strides(x: torch.Tensor):
    """The same values laid out transposed, sliced from a larger tensor, and with gaps."""
    yield x.transpose(0, -1).contiguous().transpose(0, -1)
    padded = torch.full([n + 3 for n in x.shape], 99, dtype=x.dtype, device=x.device)
    inner = padded[tuple(slice(1, n + 1) for n in x.shape)]
    yield inner.copy_(x)
    gaps = torch.full([*x.shape, 2], 99, dtype=x.dtype, device=x.device)
    gaps[..., 0] = x
    yield gaps[..., 0]


def test_strides(device):
    plain = random_partials(3, 4, 8, 5, device, seed=5)
    whole = merge(plain, torch.float32)
    for i in range(4):
        for view in odd_strides(plain[i]):
            assert torch.equal(view.nan_to_num(), plain[i].nan_to_num())
            inputs = [*plain[:i], view, *plain[i + 1 :]]
            assert same_bits(whole, merge(inputs, torch.float32))


def test_broadcast_and_negated_views(device):
    o, m, s, lens = random_partials(1, 1, 8, 1, device, seed=6)
    wide = [o.expand(3, 4, 8, 5), m.expand(3, 4, 8), s.expand(3, 4, 8), lens.expand(3)]
    copies = [x.contiguous() for x in wide]
    expected = merge(copies, torch.float32)
    assert same_bits(expected, merge(wide, torch.float32))
    negated = torch._neg_view(-copies[0])  # what torch itself gives for the imaginary part of a conjugate
    assert negated.is_neg()
    assert same_bits(expected, merge((negated, *copies[1:]), torch.float32))


def test_inputs_are_unchanged_and_gradients_detached(device):
    inputs = random_partials(3, 4, 8, 5, device, seed=7)
    before = [x.clone() for x in inputs]
    merge(inputs, torch.float16)
    assert all(
        torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(inputs, before, strict=True)
    )
    inputs[0].requires_grad_()
    output, lse = merge(inputs, torch.float16)
    assert not output.requires_grad
    assert not lse.requires_grad


@pytest.mark.parametrize(("tokens", "heads"), [(0, 3), (2, 0), (0, 0)])
def test_nothing_to_do(tokens, heads, device):
    inputs = random_partials(tokens, heads, 4, 7, device)
    output, lse = merge(inputs, torch.float8_e5m2)
    assert output.shape == (tokens, heads, 7)
    assert output.dtype == torch.float8_e5m2
    assert lse.shape == (tokens, heads)
    assert lse.dtype == torch.float32


def test_wide_rank_spans_blocks(device):
    inputs = random_partials(2, 1, 3, 2500, device, seed=8)
    output, lse = merge(inputs, torch.float32)
    halves = [
        merge((inputs[0][..., cut], *inputs[1:]), torch.float32)
        for cut in (slice(0, 1250), slice(1250, None))
    ]
    assert same_bits((output, lse), (torch.cat([halves[0][0], halves[1][0]], -1), halves[1][1]))
