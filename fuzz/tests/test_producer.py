"""The producer family: real attention, the contract's producer domain, and every strange state there is."""

import pytest
import torch

from fuzz.bits import MAX_EXTENT
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.families.producer import EMPTY_AS, FAULTS, REACH, batch_of, problem_of
from fuzz.partition import tiles_per_segment_of
from fuzz.recipe import expand
from fuzz.tests.inspection import active, empty, live, recipe

INF = float("inf")


def drawn(count: int, fault: bool):
    """Return the first producer recipes of a stream, with a fault or without."""
    found = []
    for number in range(0, MAX_EXTENT, len(DRAWN)):
        one = draw_recipe(17, number)
        assert one.family == "producer"
        if (one.params["fault"] != "none") == fault:
            found.append(one)
        if len(found) == count:
            break
    return found


def keys_of(case) -> torch.Tensor:
    """Return how many keys the partition gives each segment, [T, 1, S]."""
    length = case.seq_lens.to(torch.int64)[:, None]
    group = tiles_per_segment_of(case.seq_lens, case.S, case.tile_size)[:, None] * case.tile_size
    start = torch.arange(case.S) * group
    return torch.minimum((length - start).clamp_min(0), group)[:, None]


def test_every_case_without_a_fault_obeys_the_definition_of_the_domain():
    seen = 0
    for one in drawn(40, fault=False):
        case = expand(one)
        assert case.domain is Domain.PRODUCER
        m, s, o = case.segm_max, case.segm_expsum, case.segm_output
        alive = live(case)
        seen += int(alive.sum())
        most = keys_of(case).expand_as(s).clone()
        if one.params["sinks"]:
            most[..., 0] += 1
        usual = (s >= 1) & (s <= most)
        clamped = (m >= 0) & (s > 0) & (s < 1)
        assert bool((usual | clamped)[alive].all())
        assert bool(m[alive].isfinite().all())
        largest = REACH * 2.0 ** int(one.params["value_exponent"])
        bound = s.to(torch.float64) * largest * (1 + 2.0**-20)
        assert bool((o.abs().to(torch.float64) <= bound[..., None])[alive].all())
    assert seen > 5000


def test_a_fault_is_reported_as_stress():
    assert {expand(one).domain for one in drawn(20, fault=True)} == {Domain.STRESS}
    for fault in FAULTS:
        case = expand(recipe("producer", params={"fault": fault, "keys": 30}))
        assert (case.domain is Domain.PRODUCER) == (fault == "none")


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("spread", [-2, 2, 6])
def test_merged_partials_are_the_softmax_over_the_visible_keys(spread, window, sinks):
    one = recipe(
        "producer",
        params={"verify": 2, "keys": 57, "spread": spread, "window": window, "sinks": sinks},
        tokens=4,
        rank=5,
    )
    case = expand(one)
    draft = Draft(one, Domain.PRODUCER)
    batch = batch_of(draft)
    problem = problem_of(draft, batch)
    assert case.seq_lens.tolist() == batch.lengths.tolist()
    for t in range(case.T):
        seen = slice(int(batch.first[t]), int(batch.end[t]))
        for h in range(case.H):
            score = problem.scores[t, h, seen].to(torch.float64)
            values = problem.values[batch.request[t], seen]
            if problem.sink is not None:
                score = torch.cat((score, problem.sink[h : h + 1].to(torch.float64)))
                values = torch.cat((values, torch.zeros(1, case.R, dtype=torch.float64)))
            top = score.max()
            weight = torch.exp2(score - top)
            wanted = (weight[:, None] * values).sum(dim=0) / weight.sum()
            mass = top + torch.log2(weight.sum())

            here = live(case)[t, h]
            m = case.segm_max[t, h, here].to(torch.float64)
            factor = torch.exp2(m - m.max())
            den = (factor * case.segm_expsum[t, h, here]).sum()
            got = (factor[:, None] * case.segm_output[t, h, here]).sum(dim=0) / den
            torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5 * REACH)
            torch.testing.assert_close(m.max() + torch.log2(den), mass, rtol=1e-6, atol=1e-5)


def test_each_verify_token_has_a_causal_prefix_of_its_own():
    case = expand(recipe("producer", params={"verify": 4, "keys": 20}, tokens=8))
    lengths = case.seq_lens.tolist()
    assert [lengths[i] - lengths[0] for i in range(4)] == [0, 1, 2, 3]
    assert [lengths[4 + i] - lengths[4] for i in range(4)] == [0, 1, 2, 3]
    shared = expand(recipe("producer", params={"verify": 4, "keys": 20, "shared_length": True}, tokens=8))
    assert len(set(shared.seq_lens.tolist()[:4])) == 1


def triples(case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (m, s, whether all of o is zero), each [T, H, S]."""
    return case.segm_max, case.segm_expsum, (case.segm_output == 0).all(dim=-1)


def test_no_tile_visited():
    case = expand(
        recipe("producer", params={"verify": 8, "keys": 3, "shared_length": True}, tokens=8, tile_size=1)
    )
    m, s, zero = triples(case)
    assert bool((active(case) & (m == -INF) & (s == 1) & zero).any())


def masked() -> dict[str, object]:
    """Return parameters under which whole first tiles lie before the window."""
    return {"verify": 1, "keys": 64, "window": True, "spread": 0}


def test_phantom():
    m, s, zero = triples(case := expand(recipe("producer", params=masked(), tokens=6)))
    assert bool((active(case) & (m == 0) & (s == 0) & zero).any())


def test_clamped():
    case = expand(recipe("producer", params={**masked(), "lean": "down"}, tokens=16, seed=2))
    clamped = live(case) & (case.segm_max == 0) & (case.segm_expsum < 1)
    assert bool(clamped.any())
    assert bool((case.segm_output != 0).any(dim=-1)[clamped].all())


@pytest.mark.parametrize("encoding", [name for name in EMPTY_AS if name != "left"])
def test_rewritten_empties(encoding):
    case = expand(recipe("producer", params={**masked(), "empty_as": encoding}, tokens=6))
    m, s, zero = triples(case)
    wanted = (m == -INF) & (s.isnan() if encoding == "nan_triple" else (s == 0) & zero)
    assert bool((active(case) & wanted).any())
    assert bool(wanted[empty(case)].all())


def test_sink_only():
    case = expand(recipe("producer", params={**masked(), "sinks": True}, tokens=6))
    m, s, zero = triples(case)
    alone = active(case)[..., 0] & (s[..., 0] == 1) & zero[..., 0] & m[..., 0].isfinite()
    assert bool(alone.any())


def test_never_written():
    case = expand(recipe("producer", params={"verify": 2, "keys": 40, "idle": True}, tokens=6))
    assert 0 in case.active.tolist()
    assert max(case.active.tolist()) > 0


def test_poisoned_value():
    case = expand(recipe("producer", params={"keys": 30, "fault": "poisoned_value"}, tokens=6))
    nan = case.segm_output.isnan() & live(case)[..., None]
    rows = nan.any(dim=-1)
    assert bool(rows.any())
    assert bool((case.segm_max.isfinite() & case.segm_expsum.isfinite())[rows].all())
    index = torch.arange(case.S).expand_as(rows)
    last = (case.active - 1).reshape(-1, 1, 1).expand_as(rows)
    assert torch.equal(index[rows], last[rows])  # only the ragged last tile reads beyond the keys


@pytest.mark.parametrize(("fault", "maximum"), [("nan_scores", 0.0), ("inf_scores", INF)])
def test_bad_scores(fault, maximum):
    case = expand(recipe("producer", params={"keys": 30, "fault": fault}, tokens=6))
    bad = active(case) & case.segm_expsum.isnan()
    assert bool(bad.any())
    assert bool((case.segm_max[bad] == maximum).any())
