"""The exhibits that keep every bound are faults all the same: a change that must not matter changes bits."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from fuzz.recipe import expand
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.tests.noticing import recipes_for


def results(merge, case: MergeCase) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and lse, NaN as one number and either zero as one, so that they can be compared."""
    inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
    output, lse = merge(*(x.clone() for x in inputs), case.tile_size, FORMATS[case.out_dtype].torch_dtype)
    return output.double().nan_to_num(1.25e300) + 0.0, lse.double().nan_to_num(1.25e300) + 0.0


def changed(case: MergeCase, change: Callable[[torch.Tensor], torch.Tensor]) -> MergeCase:
    """Return the case with its four tensors changed alike."""
    return replace(
        case,
        segm_output=change(case.segm_output),
        segm_max=change(case.segm_max),
        segm_expsum=change(case.segm_expsum),
        seq_lens=change(case.seq_lens),
    )


def again(merge, case):
    first, second = results(merge, case), results(merge, case)
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def alone(merge, case):
    whole, first = results(merge, case), results(merge, changed(case, lambda x: x[:1]))
    return all(torch.equal(a[:1], b) for a, b in zip(whole, first, strict=True))


def reversed_tokens(merge, case):
    whole, flipped = results(merge, case), results(merge, changed(case, lambda x: x.flip(0)))
    return all(torch.equal(a, b.flip(0)) for a, b in zip(whole, flipped, strict=True))


def reversed_heads(merge, case):
    flipped = changed(case, lambda x: x.flip(1) if x.ndim > 1 else x)
    pairs = zip(results(merge, case), results(merge, flipped), strict=True)
    return all(torch.equal(a, b.flip(1)) for a, b in pairs)


def idle_neighbours(merge, case):
    lengths = case.seq_lens.clone()
    lengths[1:] = 0
    pairs = zip(results(merge, case), results(merge, replace(case, seq_lens=lengths)), strict=True)
    return all(torch.equal(a[:1], b[:1]) for a, b in pairs)


def other_tail(merge, case):
    unwritten = torch.arange(case.S) >= case.active[:, None, None]
    turned = torch.where(unwritten, 1.0 - case.segm_max.sign() * 2, case.segm_max)
    pairs = zip(results(merge, case), results(merge, replace(case, segm_max=turned)), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def other_encoding(merge, case):
    empty = (case.segm_max == -torch.inf) | ((case.segm_expsum == 0) & ~case.segm_max.isnan())
    phantom = replace(
        case,
        segm_max=torch.where(empty, 0.0, case.segm_max),
        segm_expsum=torch.where(empty, 0.0, case.segm_expsum),
    )
    pairs = zip(results(merge, case), results(merge, phantom), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


SHOWN = {
    "every_second_call": again,
    "order_by_batch_size": alone,
    "order_by_place": reversed_tokens,
    "order_by_head": reversed_heads,
    "order_by_longest_row": idle_neighbours,
    "order_by_tail": other_tail,
    "precision_by_encoding": other_encoding,
    "precision_by_batch_size": alone,
}
"""The change that each of them must not feel, and does."""


@pytest.mark.parametrize("name", SHOWN)
def test_the_change_is_felt_by_the_exhibit_alone(name):
    cases = [expand(recipe) for recipe in recipes_for(EXHIBITS[name])]
    assert not all(SHOWN[name](EXHIBITS[name], case) for case in cases)
    assert all(SHOWN[name](SOUND["in_order"], case) for case in cases)


def test_no_exhibit_is_left_out():
    alone = {n for n, e in EXHIBITS.items() if all(d.startswith("law ") for d in e.detectors)}
    alone -= {"dense_into_strided"}  # changes no bit: it writes beside the outputs that it is handed
    assert alone <= set(SHOWN)
