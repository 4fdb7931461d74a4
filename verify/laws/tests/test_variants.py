"""Variants are what their law says they are, in rational arithmetic, and the seed decides them."""

from fractions import Fraction

import pytest
import torch

from fuzz.formats import FORMATS
from verify.laws import LAWS
from verify.laws.conditions import segments_of
from verify.laws.tests.trials import HONEST, checked, compared, drawn, ordinary, trial_of, variants

TENSORS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")
CASES = [drawn(number) for number in range(2, 60, 5)] + [ordinary()]


def bits(case):
    return [getattr(case, name).contiguous().view(torch.uint8).numpy().tobytes() for name in TENSORS]


@pytest.mark.parametrize("law", LAWS)
def test_the_seed_decides_the_variants(law):
    case = ordinary()
    first, again = variants(law, case, seed=3), variants(law, case, seed=3)
    assert len(first) <= 3
    assert [bits(variant) for variant in first] == [bits(variant) for variant in again]
    for variant in first:
        assert (variant.S, variant.R, variant.tile_size) == (case.S, case.R, case.tile_size)
        assert (variant.out_dtype, variant.domain) == (case.out_dtype, case.domain)
        assert variant.recipe is None
    if law not in ("repeat", "hull", "outputs"):
        others = [bits(variant) for seed in range(4, 9) for variant in variants(law, case, seed=seed)]
        assert any(other not in [bits(variant) for variant in first] for other in others)


@pytest.mark.parametrize("law", LAWS)
def test_a_law_leaves_the_case_alone(law):
    for case in CASES[:3]:
        before = bits(case)
        variants(law, case)
        assert bits(case) == before


def live_rows(case):
    segments = segments_of(case)
    for token in range(case.T):
        for head in range(case.H):
            live = segments.live[token, head].nonzero().flatten().tolist()
            yield (token, head), live, bool(segments.sound[token, head])


def difference(case, variant, row, live):
    """Return by how much each live m grew, exactly."""
    return {
        Fraction(float(variant.segm_max[(*row, i)])) - Fraction(float(case.segm_max[(*row, i)])) for i in live
    }


def ratios(before, after):
    """Return the exact factors between finite numbers that are not 0."""
    pairs = zip(before.flatten().tolist(), after.flatten().tolist(), strict=True)
    return {Fraction(b) / Fraction(a) for a, b in pairs if a}


def is_power_of_two(factor):
    return factor > 0 and (factor.numerator * factor.denominator).bit_count() == 1


def test_shift_adds_one_integer_to_every_live_maximum_of_a_row():
    moved: set[Fraction] = set()
    for source in CASES:
        case, found = compared("shift", source)
        for variant in found:
            for row, live, sound in live_rows(case):
                steps = difference(case, variant, row, live) if sound else {Fraction(0)}
                assert len(steps) == 1
                assert steps.pop().denominator == 1
                moved |= difference(case, variant, row, live) if sound else set()
            assert torch.equal(segments_of(variant).live, segments_of(case).live)
            assert bits(variant)[0] == bits(case)[0]
            assert bits(variant)[2:] == bits(case)[2:]
    assert len(moved) > 8


def test_mass_multiplies_partials_and_masses_of_a_row_by_one_power_of_two():
    seen = set()
    for source in CASES:
        case, found = compared("mass", source)
        for variant in found:
            assert bits(variant)[1] == bits(case)[1]
            for row, live, sound in live_rows(case):
                if not sound:
                    continue
                (factor,) = ratios(case.segm_expsum[row][live], variant.segm_expsum[row][live])
                assert is_power_of_two(factor)
                seen.add(factor)
    assert len(seen) > 5
    # All is judged in this case, so that the partials must be as exact as the masses.
    case = ordinary()
    assert checked("mass", HONEST, case).rows == case.T * case.H
    case, (variant,) = compared("mass", case)
    for row, live, _ in live_rows(case):
        factors = ratios(case.segm_expsum[row][live], variant.segm_expsum[row][live])
        assert ratios(case.segm_output[row][live], variant.segm_output[row][live]) == factors


def test_scale_multiplies_a_column_by_a_power_of_two_that_keeps_the_result_normal():
    seen = set()
    for source in CASES:
        case, found = compared("scale", source)
        fmt, output = FORMATS[case.out_dtype], trial_of(HONEST, case).returned.output.double()
        for variant in found:
            assert bits(variant)[1:] == bits(case)[1:]
            for row, live, _ in live_rows(case):
                for column in range(case.R):
                    before = case.segm_output[row][live, column]
                    if bool(before.isfinite().all()) and bool((before != 0).any()):
                        (factor,) = ratios(before, variant.segm_output[row][live, column])
                        assert is_power_of_two(factor)
                        if factor != 1:
                            value = abs(Fraction(float(output[(*row, column)])))
                            for size in (value, value * factor):
                                assert Fraction(2) ** (fmt.emin + 1) <= size <= Fraction(fmt.max_value) / 2
                        seen.add(factor)
    assert len(seen) > 20


def test_constant_gives_every_live_segment_of_a_column_the_same_mean():
    means = set()
    for case in CASES:
        fmt = FORMATS[case.out_dtype]
        for variant in variants("constant", case):
            output = trial_of(HONEST, variant).returned.output
            for row, live, sound in live_rows(case):
                if not sound:
                    continue
                s = [Fraction(x) for x in variant.segm_expsum[row][live].tolist()]
                o = [[Fraction(x) for x in column] for column in variant.segm_output[row][live].T.tolist()]
                for r, column in enumerate(o):
                    mean = {a / b for a, b in zip(column, s, strict=True)}
                    if column != [Fraction(x) for x in case.segm_output[row][live, r].tolist()]:
                        assert mean == {Fraction(float(output[(*row, r)]))}
                        assert Fraction(2) ** fmt.emin <= abs(min(mean)) <= fmt.max_value
                        means |= mean
    assert len(means) > 50
    assert not all(is_power_of_two(abs(mean)) for mean in means)


def test_tail_and_empties_touch_only_what_they_say():
    for law, kind in (("tail", "inactive"), ("empties", "empty")):
        changed = 0
        for source in [*CASES, drawn(1), drawn(8)]:
            case, found = compared(law, source)
            before = segments_of(case)
            for variant in found:
                after = segments_of(variant)
                assert torch.equal(before.live, after.live)
                assert torch.equal(before.empty, after.empty)
                rest = ~getattr(before, kind)
                for name in TENSORS[1:3]:
                    was, now = getattr(case, name), getattr(variant, name)
                    assert torch.equal(was[rest].view(torch.int32), now[rest].view(torch.int32))
                was, now = case.segm_output, variant.segm_output
                assert torch.equal(was[rest].view(torch.int32), now[rest].view(torch.int32))
                changed += bits(variant) != bits(case)
            if len(found) == 2:
                assert bits(found[0]) != bits(found[1])
        assert changed > 2


def test_where_nothing_is_empty_a_segment_of_each_row_is_emptied_first():
    source = ordinary(segments=6)
    case, found = compared("empties", source)
    before, after = segments_of(source), segments_of(case)
    assert not before.empty.any()
    assert (after.empty.sum(-1) == 1).all()
    assert torch.equal(after.empty | after.live, before.live)
    assert len(found) == 2
    alone = ordinary(segments=1)
    assert checked("empties", HONEST, alone).rows == 0


def test_neighbours_keeps_every_row_once_and_spoils_the_others():
    case, (first, second) = compared("neighbours", ordinary(tokens=9, heads=3))
    whole = 0
    for token in range(9):
        kept = []
        for variant in (first, second):
            same = torch.stack(
                [
                    (getattr(variant, name)[token] == getattr(case, name)[token]).flatten(1).all(-1)
                    for name in TENSORS[:3]
                ]
            ).all(0)
            kept.append(same)
            if bool(same.any()):
                assert variant.seq_lens[token] == case.seq_lens[token]
            whole += bool(variant.seq_lens[token] != case.seq_lens[token])
        assert torch.equal(kept[0], ~kept[1])
    assert whole > 0
    assert checked("neighbours", HONEST, case).rows == 27


def test_single_leaves_one_live_segment_in_every_row():
    for case in CASES:
        rows = segments_of(case)
        for variant in variants("single", case):
            alone = segments_of(variant)
            some = (rows.live & ~rows.broken).any(-1)
            assert bool((alone.live.sum(-1)[some] == 1).all())
            assert not bool(alone.broken[some].any())
            assert torch.equal(
                variant.segm_max[alone.live & some[..., None]], case.segm_max[alone.live & some[..., None]]
            )


def test_batch_repeats_divides_and_isolates():
    case = ordinary(tokens=5, heads=3)
    alone, some, repeated = variants("batch", case)
    assert (alone.T, alone.H) == (1, 1)
    assert some.T in (2, 3)
    assert some.H in (1, 2)
    assert repeated.T in (15, 20, 50, 105)
    assert repeated.H == 3
    # The copy that is nothing but company is as long as a row can be.
    assert repeated.active.tolist() == case.active.tolist() * (repeated.T // 5 - 1) + [case.S] * 5
    assert checked("batch", HONEST, case).rows == 15
    assert [variant.T for variant in variants("batch", ordinary(tokens=1, heads=1))] in (
        [3],
        [4],
        [10],
        [301],
    )


def test_the_row_alone_is_one_in_which_an_order_can_show():
    case = ordinary(tokens=5, heads=3)
    case.segm_expsum[..., 2:] = 0
    case.segm_expsum[3, 1, 2] = 1
    for seed in range(4):
        base, (alone, *_) = compared("batch", case, seed=seed)
        assert torch.equal(alone.segm_max, base.segm_max[3:4, 1:2])


def test_position_permutes_rows():
    case, (mixed, rolled) = compared("position", ordinary(tokens=5, heads=3))
    assert torch.equal(rolled.segm_max, case.segm_max.roll((1, 1), (0, 1)))
    assert torch.equal(
        mixed.segm_max.sort(0).values.sort(1).values, case.segm_max.sort(0).values.sort(1).values
    ) or (sorted(mixed.segm_max.flatten().tolist()) == sorted(case.segm_max.flatten().tolist()))
    assert not torch.equal(mixed.segm_max, case.segm_max)


def test_strides_lays_the_same_values_out_otherwise():
    case, (dense, mixed, expanded) = compared("strides", ordinary(tokens=5, heads=3))
    assert all(getattr(dense, name).is_contiguous() for name in TENSORS)
    assert bits(dense) == bits(mixed) == bits(case)
    assert not mixed.segm_output.is_contiguous() or mixed.segm_output.storage_offset()
    assert 0 in expanded.segm_output.stride()
