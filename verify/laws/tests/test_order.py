"""Cases that are sensitive to order: their sums are exactly nothing, and any other order shows."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from fuzz.formats import FORMATS
from fuzz.layouts import laid_out
from verify.laws.conditions import segments_of
from verify.laws.order import sensitive_rows, sensitive_to_order
from verify.laws.tests.test_hold import Backward, Pairwise, Single
from verify.laws.tests.trials import HONEST, drawn, ordinary, trial_of
from verify.museum.honest import Merge

TENSORS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")
CASES = [(number, drawn(number)) for number in range(0, 100, 3)]


class SingleBackward(Single):
    """Adds from the back in float32."""

    def sums(self, weight, o, s):
        num, den = super().sums(weight.flip(-1), o.flip(2), s.flip(-1))
        return num, den


class Split(Merge):
    """Adds the first segment and the others apart."""

    def sums(self, weight, o, s):
        first = super().sums(weight[..., :1], o[:, :, :1], s[..., :1])
        rest = super().sums(weight[..., 1:], o[:, :, 1:], s[..., 1:])
        return first[0] + rest[0], first[1] + rest[1]


def results(merge, case):
    returned = trial_of(merge, case).returned
    return returned.output.double().nan_to_num(1.25e300), returned.lse.double().nan_to_num(1.25e300)


def bits(case, name):
    return getattr(case, name).contiguous().view(torch.uint8).clone()


def test_a_sensitive_row_adds_up_to_nothing_or_to_its_odd_segment():
    seen = set()
    for seed, case in [*CASES, (7, ordinary())]:
        changed = sensitive_to_order(case, seed)
        if changed is None:
            continue
        segments = segments_of(case)
        for token, head in sensitive_rows(segments, seed).nonzero().tolist():
            live = segments.live[token, head].nonzero().flatten().tolist()
            half = len(live) // 2
            m, o = changed.segm_max[token, head].tolist(), changed.segm_output[token, head].tolist()
            for a, b in zip(live[:half], live[half : 2 * half], strict=True):
                assert m[a] == m[b]
                assert o[a] == [-value for value in o[b]]
                assert 0 not in o[a]
            mass = sum(Fraction(x) for x in changed.segm_expsum[token, head, live].tolist())
            plain = {m[i] for i in live} == {0.0}
            assert not plain or 1 < mass < 1 + Fraction(len(live), 2**24)
            seen.add((len(live) % 2, plain))
    assert len(seen) == 4


def test_all_else_stays():
    some = none = rows = candidates = 0
    for seed, case in CASES:
        before = [bits(case, name) for name in TENSORS]
        changed = sensitive_to_order(case, seed)
        assert all(torch.equal(bits(case, n), b) for n, b in zip(TENSORS, before, strict=True))
        was = segments_of(case)
        chosen = sensitive_rows(was, seed)
        rows, candidates = rows + int(chosen.sum()), candidates + int((was.live.sum(-1) > 2).sum())
        if changed is None:
            none += 1
            continue
        some += 1
        now = segments_of(changed)
        assert torch.equal(was.live, now.live)
        assert torch.equal(was.empty, now.empty)
        assert not now.broken[chosen].any()
        kept = ~(chosen[..., None] & was.live)
        for name in TENSORS[:3]:
            a, b = getattr(case, name)[kept], getattr(changed, name)[kept]
            assert torch.equal(a.view(torch.int32), b.view(torch.int32))
        assert [getattr(changed, n).stride() for n in TENSORS] == [getattr(case, n).stride() for n in TENSORS]
        assert (changed.layout, changed.out_dtype, changed.domain) == (
            case.layout,
            case.out_dtype,
            case.domain,
        )
    assert some > none > 0
    assert candidates / 3 < rows < candidates / 1.5


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("segments", [4, 5, 9, 16, 64, 130])
def test_any_other_order_shows_in_every_format(segments, dtype):
    case = ordinary(tokens=12, heads=2, segments=segments, rank=9, dtype=dtype)
    changed = sensitive_to_order(case, 5)
    rows = sensitive_rows(segments_of(case), 5)
    output, lse = results(HONEST, changed)
    # Three segments that are added two by two are added in their order.
    for merge in (Backward(), Split(), *([Pairwise()] if segments > 4 else [])):
        other = results(merge, changed)
        # Two sums may be the same by chance where few segments are left after the first.
        least = 1.0 if type(merge) is Backward else 0.4
        assert (output != other[0]).any(-1)[rows].double().mean() >= (least if segments > 5 else 0.4)
        assert torch.equal(output[~rows], other[0][~rows])
    assert (lse != results(Backward(), changed)[1])[rows].any() or segments == 4
    narrow = results(Single(), changed)[0], results(SingleBackward(), changed)[0]
    assert (narrow[0] != narrow[1]).any(-1)[rows].any()


def test_three_live_segments_are_enough_and_two_are_not():
    case = ordinary(tokens=20, segments=4)  # of which three are active
    rows, changed = sensitive_rows(segments_of(case), 2), sensitive_to_order(case, 2)
    assert (results(HONEST, changed)[0] != results(Backward(), changed)[0]).any(-1)[rows].all()
    assert sensitive_to_order(ordinary(tokens=20, segments=3), 2) is None


def test_rows_that_share_memory_are_left_alone():
    case = ordinary(tokens=6, heads=1)
    assert sensitive_to_order(case, 1) is not None
    first = case.segm_output[:1].expand(case.segm_output.shape)
    assert sensitive_to_order(replace(case, segm_output=first), 1) is None


@pytest.mark.parametrize("layout", ["head_major", "reversed", "sliced", "padded", "offset"])
def test_strides_and_what_lies_between_stay(layout):
    case = ordinary(tokens=6)
    (laid,) = laid_out(layout, case.segm_output)
    changed = sensitive_to_order(replace(case, segm_output=laid), 1)
    plain = sensitive_to_order(case, 1)
    assert changed is not None
    assert plain is not None
    assert changed.segm_output.stride() == laid.stride()
    assert changed.segm_output.storage_offset() == laid.storage_offset()
    assert torch.equal(changed.segm_output, plain.segm_output)


def test_rows_keep_their_values_when_others_go():
    case = ordinary(tokens=9, heads=3, rank=7)
    less = replace(
        case,
        segm_output=case.segm_output[:4, :2, :, :3],
        segm_max=case.segm_max[:4, :2],
        segm_expsum=case.segm_expsum[:4, :2],
        seq_lens=case.seq_lens[:4],
    )
    whole, part = sensitive_to_order(case, 3), sensitive_to_order(less, 3)
    assert whole is not None
    assert part is not None
    assert torch.equal(whole.segm_output[:4, :2, :, :3], part.segm_output)
    assert torch.equal(whole.segm_max[:4, :2], part.segm_max)
    assert torch.equal(whole.segm_expsum[:4, :2], part.segm_expsum)
