"""The promises of the families about lengths, masses and special values."""

import math
from fractions import Fraction

import mpmath
import pytest
import torch

from fuzz.families import empties, neg_inf, seq_lens, specials
from fuzz.partition import active_segments
from fuzz.recipe import expand
from fuzz.tests.inspection import active, empty, live, recipe

INF = math.inf
INT32_MAX = 2**31 - 1


def matches(m: float, s: float, encoding: str) -> bool:
    """Return whether (m, s) is the encoding, written out again."""
    minus_zero = s == 0 and math.copysign(1, s) < 0
    return {
        "not_visited": m == -INF and s == 1,
        "phantom": m == 0 and s == 0 and not minus_zero,
        "nan_triple": m == -INF and math.isnan(s),
        "no_mass": m == -INF and s == 0,
        "clamped_zero": math.isfinite(m) and s == 0 and not minus_zero,
        "negative_zero": math.isfinite(m) and minus_zero,
        "massless_high": m > 2.9e38 and m < INF and s == 0,
        "massless_inf": m == INF and s == 0,
        "wild": m == -INF,
    }[encoding]


@pytest.mark.parametrize("lengths", ["full", "mixed", "partial"])
@pytest.mark.parametrize("encoding", empties.ENCODINGS)
def test_empties_has_each_encoding_at_each_position(encoding, lengths):
    for position in empties.POSITIONS:
        params = {"encoding": encoding, "position": position, "lengths": lengths}
        case = expand(recipe("empties", params=params, tokens=6))
        plain = expand(recipe("odd_shapes", params={"lengths": lengths}, tokens=6))
        assert bool((active(case) & (case.seq_lens > 0)[:, None, None]).any())
        for t, count in enumerate(case.active.tolist()):
            for h in range(case.H):
                found = empty(case)[t, h].nonzero().flatten().tolist()
                wanted = {
                    "first": [0],
                    "middle": [(count - 1) // 2],
                    "last": [count - 1],
                    "largest": [int(plain.segm_max[t, h, :count].argmax())] if count else [],
                    "all_but_one": None,
                    "all": list(range(count)),
                }[position]
                if wanted is None:
                    assert len(found) == max(0, count - 1)
                else:
                    assert found == (wanted if count else [])
                for i in found:
                    m, s = float(case.segm_max[t, h, i]), float(case.segm_expsum[t, h, i])
                    assert matches(m, s, encoding)


def test_empties_rotates_through_all_of_them():
    params = {"encoding": "rotate", "position": "rotate"}
    rows = len(empties.ENCODINGS) * len(empties.POSITIONS)
    case = expand(recipe("empties", params=params, tokens=rows, heads=1))
    met = set()
    for t in range(rows):
        found = empty(case)[t, 0].nonzero().flatten().tolist()
        place = (len(found), found[0] if len(found) == 1 else None)
        m, s = float(case.segm_max[t, 0, found[0]]), float(case.segm_expsum[t, 0, found[0]])
        met |= {(name, place[0]) for name in empties.ENCODINGS if matches(m, s, name)}
    assert {name for name, _ in met} == set(empties.ENCODINGS)
    assert {count for _, count in met} == {1, 7, 8}


@pytest.mark.parametrize("beside", neg_inf.BESIDE)
@pytest.mark.parametrize("kind", neg_inf.KINDS)
def test_neg_inf_marks_what_it_says(kind, beside):
    case = expand(recipe("neg_inf", params={"kind": kind, "beside": beside}, tokens=6))
    marked = active(case) & (case.segm_max == -INF)
    counts = marked.sum(dim=-1)
    assert {
        "row": bool((counts == 8).all()),
        "half": bool((counts >= 1).all()) and 1 < float(counts.to(torch.float64).mean()) < 7,
        "one": bool((counts == 1).all()),
        "all_but_one": bool((counts == 7).all()),
    }[kind]
    s, o = case.segm_expsum[marked], case.segm_output[marked]
    assert {
        "ordinary": bool((s >= 1).all()) and bool(o.isfinite().all()),
        "nan": bool(s.isnan().all()) and bool(o.isnan().all()),
        "inf": bool((s == INF).all()) and bool(o.isinf().all()),
        "patterns": s.unique().numel() > s.numel() // 2,
    }[beside]


def test_poisoned_tail_has_a_tail_of_the_garbage_it_names():
    def described(tensor: torch.Tensor, kind: str) -> bool:
        return {
            "plausible": bool(tensor.isfinite().all()) and bool((tensor != 0).all()),
            "nan": bool(tensor.isnan().all()),
            "inf": bool(tensor.isinf().all()),
            "huge": bool((tensor.abs() > 2.9e38).all()) and bool(tensor.isfinite().all()),
            "patterns": bool(tensor.unique().numel() > tensor.numel() * 9 // 10),
            "zero": bool((tensor == 0).all()),
            "any": bool(tensor.isnan().any()) and bool((tensor == 0).any()) and bool(tensor.isinf().any()),
        }[kind]

    for kind in ("plausible", "nan", "inf", "huge", "patterns", "zero", "any"):
        case = expand(recipe("poisoned_tail", params={"garbage": kind}, tokens=8))
        tail = ~active(case)
        assert bool(tail.any(dim=-1).all())
        assert case.active.tolist()[1] == 0
        assert max(case.active.tolist()) > 1
        for tensor in (case.segm_output, case.segm_max, case.segm_expsum):
            assert described(tensor[tail], kind)
        assert bool(case.segm_output[active(case)].isfinite().all())


@pytest.mark.parametrize("kind", specials.KINDS)
def test_specials_strikes_the_field_it_names(kind):
    case = expand(recipe("specials", params={"kind": kind}, tokens=4))
    m, s, o = case.segm_max, case.segm_expsum, case.segm_output
    here = active(case)
    struck = {
        "m_nan": m.isnan(),
        "m_nan_massless": m.isnan() & (s == 0),
        "m_inf": m == INF,
        "s_nan": s.isnan(),
        "s_inf": s == INF,
        "s_minus_inf": s == -INF,
        "s_negative": (s < 0) & s.isfinite(),
        "s_negative_tiny": (s < 0) & (s > -1e-44),
        "o_nan": o.isnan().any(dim=-1),
        "o_inf": (o == INF).any(dim=-1),
        "o_minus_inf": (o == -INF).any(dim=-1),
        "o_both": (o == INF).any(dim=-1),
        "o_inf_nan": (o == INF).any(dim=-1),
        "o_inf_far": (m == -1e5) & (o == INF).any(dim=-1),
        "o_nan_far": (m < -2e38) & o.isnan().any(dim=-1),
        "none": here & False,
    }[kind] & here
    assert bool((struck.sum(dim=-1) == (0 if kind == "none" else 1)).all())
    assert bool(live(case)[struck].all())  # an empty segment would be allowed to hold it
    other = {"o_both": o == -INF, "o_inf_nan": o.isnan()}.get(kind)
    if other is not None:
        together = ((o == INF) & here[..., None]).any(dim=2) & (other & here[..., None]).any(dim=2)
        assert bool(together.any(dim=-1).all())
    if kind.startswith("o_"):
        whole = ((~o.isfinite()) & here[..., None]).any(dim=2).all(dim=-1)
        assert not bool(whole.all())  # some columns stay clean beside the struck ones


def test_seq_lens_lie_on_the_boundaries():
    segments, tile, group = 8, 4, 32
    near = {0, 1}

    def wanted(length: int, kind: str, width: str) -> bool:
        distance = min(length % group, -length % group)
        close = {INT32_MAX - k * unit for k in range(4) for unit in (0, 1, tile, group)}
        return {
            "group_edge": distance in near and length >= group - 1,
            "tile_edge": min(length % tile, -length % tile) in near and length >= tile - 1,
            "nonpositive": length <= 0,
            "int32_edge": length in close,
            "int64_edge": abs(length) >= 2**31 if width == "int64" else length in close,
        }[kind]

    for width in seq_lens.WIDTHS:
        for kind in seq_lens.KINDS:
            case = expand(recipe("seq_lens", params={"kind": kind, "width": width}, tokens=40, rank=1))
            lengths = case.seq_lens.tolist()
            assert str(case.seq_lens.dtype) == f"torch.{width}"
            assert all(wanted(length, kind, width) for length in lengths)
            assert len(set(lengths)) > 3
            assert case.active.tolist() == [active_segments(length, segments, tile) for length in lengths]
    huge = expand(recipe("seq_lens", params={"kind": "int64_edge", "width": "int64"}, tokens=200, rank=1))
    assert {2**63 - 1, -(2**63)} <= set(huge.seq_lens.tolist())
    turning = expand(recipe("seq_lens", params={"kind": "rotate"}, tokens=5, heads=3))
    kinds = [[kind for kind in seq_lens.KINDS if wanted(x, kind, "int32")] for x in turning.seq_lens.tolist()]
    assert {name for names in kinds for name in names} == set(seq_lens.KINDS)


def total_mass(case, t: int, h: int):
    """Return den − 1 with 2000 bits."""
    with mpmath.workprec(2000):
        den = mpmath.mpf(0)
        for i in live(case)[t, h].nonzero().flatten().tolist():
            m, s = float(case.segm_max[t, h, i]), float(case.segm_expsum[t, h, i])
            den += mpmath.mpf(s) * mpmath.power(2, mpmath.mpf(m)) if m > -9e5 else 0
        return den - 1


@pytest.mark.parametrize(
    ("kind", "smallest", "largest"),
    [
        ("exact", 0, 0),
        ("steps", 0, 2.0**-21),
        ("power", 2.0**-23, 0.5),
        ("far", 2.0**-160, 0.5),
        ("fraction", 0, 2.0**-24 * 1.01),
    ],
)
def test_unit_mass_is_near_one(kind, smallest, largest):
    case = expand(recipe("unit_mass", params={"kind": kind}, tokens=12, rank=1))
    rows = [total_mass(case, t, h) for t in range(case.T) for h in range(case.H)]
    assert all(smallest <= abs(row) <= largest for row in rows)
    if kind != "exact":
        assert len({str(row) for row in rows}) > 3
    alone = case.segm_max[live(case) & (case.segm_max > -9e5)]
    if kind in ("exact", "power"):
        assert {20.0, 126.0} <= set(alone.tolist())
        assert bool((alone <= 0).any())
    if kind == "fraction":
        assert bool((alone != alone.floor()).any())
    if kind == "power":
        found = {Fraction(s) * 2**20 for s in case.segm_expsum[case.segm_max == 20].tolist()}
        assert all(1 < x <= Fraction(3, 2) for x in found)
