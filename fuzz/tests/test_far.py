"""The promises of the families about masses far apart and maxima far from zero."""

import pytest
import torch

from fuzz.families import clamped, lofty, swamped
from fuzz.recipe import expand
from fuzz.tests.inspection import active, empty, live, recipe


@pytest.mark.parametrize("kind", clamped.KINDS)
def test_clamped_segments_stand_at_zero_or_above_and_live_ones_below(kind):
    case = expand(recipe("clamped", params={"kind": kind}, tokens=20))
    m, s, o = case.segm_max, case.segm_expsum, case.segm_output
    phantom = (m == 0) & (s == 0) & (o == 0).all(dim=-1)
    tiny = (m >= 0) & (s > 0) & (s < 1)
    low = (m <= -1) & (m >= -30001) & (s >= 1)
    assert bool((phantom ^ tiny ^ low)[active(case)].all())
    assert bool((phantom == empty(case))[active(case)].all())
    counts = [(where & active(case)).sum(dim=-1) for where in (phantom, tiny, low)]
    if kind == "phantom":
        assert [set(count.flatten().tolist()) for count in counts] == [{7}, {0}, {1}]
    elif kind == "clamped":
        assert [set(count.flatten().tolist()) for count in counts] == [{0}, {8}, {0}]
        assert 0 < int((s < 2.0**-126).sum()) < s.numel() // 2
        assert bool((m > 0).any())
        assert bool((m == 0).any())
    else:
        assert bool((counts[2] >= 1).all())
        assert all(bool((count > 0).any()) for count in counts)
    if kind != "clamped":
        depths = {depth for depth in clamped.DEPTHS if bool(((m <= -depth) & (m >= -depth - 1)).any())}
        assert depths == set(clamped.DEPTHS)
    if kind != "phantom":
        quotients = (o.double().abs() / s.double()[..., None])[tiny & (s > 2.0**-120)]
        assert 1 < float(quotients.max()) <= 4.01


@pytest.mark.parametrize("depth", [4, 25, 60])
@pytest.mark.parametrize("kind", swamped.KINDS)
def test_swamped_rows_have_one_large_share_and_small_ones_that_add_up(kind, depth):
    case = expand(recipe("swamped", params={"kind": kind, "depth": depth}, segments=16))
    m, s, o = (tensor.double() for tensor in (case.segm_max, case.segm_expsum, case.segm_output))
    mass = s * torch.exp2(m - m.amax(dim=-1, keepdim=True))
    assert bool(live(case).all())
    large = (mass >= 1) & (mass <= 2)
    assert bool((large.sum(dim=-1) == 1).all())
    assert bool((mass[~large] <= 2.0 ** (1 - depth)).all())
    assert bool((mass[~large] >= 2.0 ** (-2 - depth)).all())
    weight = torch.exp2(m - m.amax(dim=-1, keepdim=True))
    if kind == "weights":
        assert bool((s >= 1).all())
    else:
        assert bool((weight == 1).all())
    if kind != "masses":
        # All small shares of a column have one sign, so their sum is no smaller than each.
        signs = torch.where(large[..., None], 0.0, o.sign()).sum(dim=2).abs()
        assert bool((signs == 15).all())
        ratio = (o / s[..., None]).abs()[~large]
        assert bool(((ratio >= 0.99) & (ratio <= 2.01)).all())


@pytest.mark.parametrize("kind", lofty.KINDS)
def test_lofty_maxima_are_close_together_far_from_zero(kind):
    case = expand(recipe("lofty", params={"kind": kind}, tokens=20))
    m = case.segm_max.double()
    low, high = m.amin(dim=-1), m.amax(dim=-1)
    assert float((m.abs() + 16).min()) >= 32
    assert float(m.abs().max()) < 2**31 + 64
    assert bool((low < 0).any())
    assert bool((high > 0).any())
    gap = high - low
    if kind == "usual":
        # Far out the levels are so coarse that what is added gets rounded away.
        assert 8 < float(gap.max()) <= 16 + 2.0**7
    else:
        step = torch.exp2(torch.floor(torch.log2(m.abs().amax(dim=-1))) - 23)
        assert bool((gap <= 2 * lofty.STEPS * step).all())
        assert bool((gap > 0).all())
    spread = torch.floor(torch.log2(m.abs().amax(dim=-1))).unique().numel()
    assert spread > 15
