"""The hunt's family: the parent comes back unchanged, and the mutants are what the strength allows."""

import json
import math
from dataclasses import replace

import pytest
import torch

from fuzz.case import Domain, MergeCase
from fuzz.draw import draw_recipe
from fuzz.families import DRAWN
from fuzz.families.mutants import COLUMNS, EMPTY, GAPS, MOST_SEGMENTS, ROWS, SPECIAL
from fuzz.float_codes import flipped, stepped, text_of, values_of
from fuzz.formats import FORMATS
from fuzz.mutation import mutants_of
from fuzz.recipe import Recipe, expand

MAX = 3.4028234663852886e38
PLAIN = ([3.0, 1.0, -2.0, 0.5], [1.5, 2.25, 1.75, 3.5], [1.25, -0.75, 2.5, 3.125])


def parent(m, s, o, *, out_dtype="bfloat16", length=None, tile_size=1) -> MergeCase:
    """Return a case of one row and column."""
    return MergeCase(
        segm_output=torch.tensor(o, dtype=torch.float32).reshape(1, 1, -1, 1),
        segm_max=torch.tensor(m, dtype=torch.float32).reshape(1, 1, -1),
        segm_expsum=torch.tensor(s, dtype=torch.float32).reshape(1, 1, -1),
        seq_lens=torch.tensor([len(m) * tile_size if length is None else length]),
        tile_size=tile_size,
        out_dtype=out_dtype,
        domain=Domain.PRODUCER,
    )


def mutants(strength, *, seed=5, tokens=44, heads=5, rank=7, **changes) -> MergeCase:
    recipe = mutants_of(
        parent(*PLAIN), (0, 0, 0), seed=seed, tokens=tokens, heads=heads, rank=rank, strength=strength
    )
    return expand(replace(recipe, **changes))


def codes(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().view(torch.int32).flatten().tolist()


def distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return how many float32 steps two tensors of the same signs are apart."""
    return (a.contiguous().view(torch.int32).long() - b.contiguous().view(torch.int32).long()).abs()


def test_bits_as_text_and_back():
    values = torch.tensor([0x3F800000, -1, -(2**31), 0, 0x7F800001, 12345], dtype=torch.int32).view(
        torch.float32
    )
    text = text_of(values)
    assert text == "3f800000ffffffff80000000000000007f80000100003039"
    assert codes(values_of(text)) == codes(values)
    assert values_of("").shape == (0,)


def test_steps_along_the_order_stop_at_its_ends():
    values = torch.tensor([1.0, -1.0, 0.0, -0.0, MAX, -MAX, 2.0**-149, math.inf, math.nan])
    up = stepped(values, torch.full((9,), 1, dtype=torch.int32))
    assert up[:8].tolist() == [
        1 + 2.0**-23,
        -1 - 2.0**-23,
        2.0**-149,
        -(2.0**-149),
        MAX,
        -MAX,
        2.0**-148,
        math.inf,
    ]
    assert codes(up[8:]) == codes(values[8:])
    down = stepped(values, torch.full((9,), -2, dtype=torch.int32))
    assert down[:4].tolist() == [1 - 2.0**-23, -1 + 2.0**-23, 0.0, 0.0]
    assert codes(down[3:4]) == [-(2**31)]
    bits = torch.tensor([0, 31, 22, 31])
    assert flipped(values[:4], bits).tolist() == [1 + 2.0**-23, 1.0, 2.0**-127, 0.0]


def test_row_0_column_0_is_the_parent_whatever_it_was():
    seen = 0
    for number in range(0, 2 * len(DRAWN) * len(FORMATS), 3):
        case = expand(draw_recipe(6, number))
        where = (case.T - 1, case.H // 2, case.R // 3)
        recipe = mutants_of(case, where, seed=number, tokens=2, heads=3, rank=4, strength=number % 4)
        assert Recipe.from_json(recipe.to_json()) == recipe
        made = expand(recipe)
        assert made.domain is Domain.STRESS
        assert (made.T, made.H, made.S, made.R) == (2, 3, case.S, 4)
        assert (made.tile_size, made.out_dtype) == (case.tile_size, case.out_dtype)
        assert made.seq_lens.dtype == case.seq_lens.dtype
        assert made.seq_lens.tolist() == [int(case.seq_lens[where[0]])] * 2
        live = int(case.active[where[0]])
        seen += live
        for name in ("segm_max", "segm_expsum"):
            before, after = getattr(case, name)[where[:2]], getattr(made, name)[0, 0]
            assert codes(before[:live]) == codes(after[:live])
        before, after = case.segm_output[where[:2]][:, where[2]], made.segm_output[0, 0, :, 0]
        assert codes(before[:live]) == codes(after[:live])
    assert seen > 500


def test_what_is_not_named_is_row_and_column_0():
    case = expand(draw_recipe(6, 1))
    wanted = mutants_of(case, (0, 0, 0), seed=1, tokens=1, heads=1, rank=1, strength=0)
    for where in ((), (0,), (0, 0)):
        assert mutants_of(case, where, seed=1, tokens=1, heads=1, rank=1, strength=0) == wanted


def like(kind: str, m, s, o) -> bool:  # noqa: PLR0911
    """Return whether a row's m and s [S], and o [S, R] in most columns, can have come of that kind."""
    m0, s0, o0 = (torch.tensor(values) for values in PLAIN)
    new, old = (*m.tolist(), *s.tolist()), (*m0.tolist(), *s0.tolist())
    changed = [a for a, b in zip(new, old, strict=True) if a != b]
    only_m, only_s = bool((s == s0).all()), bool((m == m0).all())
    one = len(changed) == 1
    lift = torch.log2(s.double() / s0)
    bit_changes = zip(codes(m) + codes(s), codes(m0) + codes(s0), strict=True)

    def o_is(wanted: torch.Tensor) -> bool:
        return bool(((o == wanted[:, None]).double().mean(dim=1) > 0.4).all())

    match kind:
        case "same":
            return not changed and o_is(o0)
        case "stepped":
            near = (distance(m, m0) <= 1 << 20) & (distance(s, s0) <= 1 << 20)
            return bool(near.all()) and bool(changed)
        case "rescaled":
            exact = bool((lift == lift.round()).all()) and bool((m.double() + lift == m0).all())
            return exact and len(changed) == 8 and o_is(o0 * torch.exp2(lift).float())
        case "flipped":
            return one and sum(bits_set(a ^ b) for a, b in bit_changes) == 1
        case "scaled":
            return one and only_s and bool((lift == lift.round()).all())
        case "gap":
            return only_m and len(changed) < 2 and any(at_gap(m, i) for i in range(4))
        case "swapped":
            order = [PLAIN[0].index(x) if x in PLAIN[0] else -1 for x in m.tolist()]
            return sorted(order) == [0, 1, 2, 3] and bool((s == s0[order]).all()) and o_is(o0[order])
        case "shifted":
            return only_m and (m - m0).unique().numel() == 1 and len(changed) == 4
        case "emptied":
            return len(changed) <= 2 and any(
                same(float(m[i]), e[0]) and same(float(s[i]), e[1]) for i in range(4) for e in EMPTY
            )
        case "special":
            return one and (only_m or only_s) and any(same(changed[0], value) for value in SPECIAL)
        case "patterns":
            return one and (only_m or only_s)
    raise AssertionError(kind)


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def bits_set(number: int) -> int:
    return (number & 0xFFFFFFFF).bit_count()


def at_gap(m: torch.Tensor, i: int) -> bool:
    """Return whether a maximum lies a threshold below the others' largest, give or take 2^-14."""
    top = max(PLAIN[0][:i] + PLAIN[0][i + 1 :])
    below = top - float(m[i])
    return any(abs(below - gap) <= 2.0**-14 for gap in {*GAPS, *map(float, range(601))})


@pytest.mark.parametrize("strength", [0, 1, 2, 3])
def test_rows_turn_through_the_kinds_of_their_strength(strength):
    count = (4, 8, 10, 11)[strength]
    case = mutants(strength, tokens=2 * count, heads=3, rank=40)
    rows = [
        (case.segm_max[t, h], case.segm_expsum[t, h], case.segm_output[t, h])
        for t in range(case.T)
        for h in range(case.H)
    ]
    fits = [
        turn for turn in range(count)
        if all(like(ROWS[(number + turn) % count], *row) for number, row in enumerate(rows) if number)
    ]  # fmt: skip
    assert len(fits) == 1
    assert like("same", *rows[0])


def kind_of_column(got: torch.Tensor) -> set[str]:
    """Return which kinds can have made a column of o [S]."""
    o = torch.tensor(PLAIN[2])
    changed = (got.view(torch.int32) != o.view(torch.int32)).nonzero().flatten().tolist()
    ratio = got.double() / o
    power = torch.log2(ratio) == torch.log2(ratio).round()
    kinds = set()
    if not changed:
        kinds |= {"same", "all_stepped", "swapped"}
    if len(changed) == 1:
        i = changed[0]
        kinds.add("patterns")
        if got[i] == -o[i]:
            kinds.add("negated")
        if bool(power[i]):
            kinds.add("scaled")
        if bool(distance(got, o)[i] <= 1 << 20):
            kinds.add("stepped")
        if bits_set(codes(got)[i] ^ codes(o)[i]) == 1:
            kinds.add("flipped")
        if str(float(got[i])) in {str(value) for value in SPECIAL}:
            kinds.add("special")
    if len(changed) == 2 and sorted(got.tolist()) == sorted(o.tolist()):
        kinds.add("swapped")
    if len(changed) == 4 and bool(power.all()) and ratio.unique().numel() == 1:
        kinds.add("all_scaled")
    steps = distance(got, o)
    if set(steps.tolist()) <= {0, int(steps.max())} and int(steps.max()) in (1, 4, 256, 1 << 20):
        kinds.add("all_stepped")
    return kinds


@pytest.mark.parametrize("strength", [0, 1, 2, 3])
def test_columns_are_changed_in_every_kind_of_their_strength_and_no_other(strength):
    count = (4, 8, 9, 10)[strength]
    case = mutants(strength, tokens=1, heads=1, rank=1500)
    certain = dict.fromkeys(COLUMNS, 0)
    for column in range(case.R):
        kinds = kind_of_column(case.segm_output[0, 0, :, column])
        assert kinds & set(COLUMNS[:count]), column
        if "negated" in kinds:
            certain["negated"] += 1
        elif len(kinds - {"patterns"}) == 1 and column:
            certain[(kinds - {"patterns"}).pop()] += 1
        elif kinds == {"patterns"}:
            certain["patterns"] += 1
    assert kind_of_column(case.segm_output[0, 0, :, 0]) >= {"same"}
    told = {kind for kind, times in certain.items() if times > 20}
    assert told | {"same", "stepped", "flipped"} >= set(COLUMNS[:count])
    assert told <= set(COLUMNS[:count])


def test_strength_decides_how_far_a_mutant_goes():
    m0, s0, o0 = (torch.tensor(values) for values in PLAIN)
    weak = mutants(0)
    assert bool((weak.segm_max - m0).abs().max() <= 1)
    assert bool((weak.segm_expsum / s0).log2().abs().max() <= 1)
    size = (weak.segm_output.abs() / o0.abs()[:, None]).log2().abs()
    assert bool((size <= 1.0 + 2.0**-20).all())
    assert all(
        bool(tensor.isfinite().all()) for tensor in (weak.segm_max, weak.segm_expsum, weak.segm_output)
    )
    middle = mutants(1)
    assert all(bool(tensor.isfinite().all()) for tensor in (middle.segm_max, middle.segm_expsum))
    assert bool((middle.segm_expsum > 0).all())
    assert float((middle.segm_max - m0).abs().max()) > 100  # gaps
    for strength in (2, 3):
        wild = mutants(strength)
        for tensor in (wild.segm_max, wild.segm_expsum, wild.segm_output):
            assert bool(tensor.isnan().any())
            assert bool(tensor.isinf().any())
        assert bool((wild.segm_expsum == 0).any())


def test_a_mutant_keeps_its_value_when_tokens_and_columns_are_added():
    small, large = mutants(3, tokens=4, rank=3), mutants(3, tokens=9, rank=8)
    assert codes(small.segm_output) == codes(large.segm_output[:4, :, :, :3])
    assert codes(small.segm_max) == codes(large.segm_max[:4])
    other = mutants(3, tokens=4, rank=3, seed=6)
    assert codes(small.segm_output) != codes(other.segm_output)


def test_inactive_segments_are_not_the_parents_and_lengths_keep_their_width():
    case = parent([0.0] * 6, [1.0] * 6, [2.0] * 6, length=7, tile_size=3)
    recipe = mutants_of(case, (0, 0, 0), seed=0, tokens=3, heads=2, rank=2, strength=0)
    assert len(str(recipe.params["m"])) == 3 * 8
    made = expand(recipe)
    assert made.active.tolist() == [3, 3, 3]
    assert made.seq_lens.dtype == torch.int64
    tail = made.segm_expsum[..., 3:]
    assert bool(tail.isnan().any())
    assert bool((tail == 0).any())
    none = mutants_of(
        replace(case, seq_lens=torch.tensor([-(2**63)])),
        (0, 0, 0),
        seed=0,
        tokens=2,
        heads=1,
        rank=1,
        strength=3,
    )
    assert none.params["m"] == ""
    assert expand(none).seq_lens.tolist() == [-(2**63)] * 2


def test_of_more_segments_than_a_recipe_holds_the_first_are_kept():
    count = MOST_SEGMENTS + 88
    values = [float(i) / 64 for i in range(count)]
    case = parent(values, [1.0] * count, values, length=5 * count, tile_size=5)
    recipe = mutants_of(case, (0, 0, 0), seed=0, tokens=1, heads=1, rank=1, strength=0)
    made = expand(recipe)
    assert case.S == made.S
    assert made.active.tolist() == [MOST_SEGMENTS]
    assert made.segm_max[0, 0, :MOST_SEGMENTS].tolist() == values[:MOST_SEGMENTS]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"m": "3f80000"}, "parameter 'm': '3f80000' came, a text like"),
        ({"m": "3F800000"}, "parameter 'm': '3F800000' came"),
        ({"s": "3f800000\n"}, r"parameter 's': '3f800000\\n' came"),
        ({"o": "0" * 8 * 513}, "parameter 'o': 4104 characters came, at most 4096 are wanted"),
        ({"o": "x" * 800}, f"parameter 'o': '{'x' * 40}…' came"),
        ({"o": 3}, "parameter 'o': 3 came, a text is wanted"),
        ({"strength": 4}, "parameter 'strength': 4 came"),
        ({"length": 2**63}, "parameter 'length'"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_said_in_one_line(change, complaint):
    record = json.loads(
        mutants_of(parent(*PLAIN), (), seed=0, tokens=1, heads=1, rank=1, strength=0).to_json()
    )
    record["params"] |= change
    with pytest.raises(ValueError, match=complaint) as caught:
        Recipe.from_json(json.dumps(record))
    assert "\n" not in str(caught.value)


def test_texts_that_do_not_fit_the_shape_are_filled_up_or_cut():
    record = json.loads(
        mutants_of(parent(*PLAIN), (), seed=0, tokens=1, heads=1, rank=1, strength=0).to_json()
    )
    record["params"] |= {"m": "", "s": "40000000", "o": "40400000" * 9}
    case = expand(Recipe.from_json(json.dumps(record)))
    assert case.segm_max.flatten().tolist() == [0.0] * 4
    assert case.segm_expsum.flatten().tolist() == [2.0, 1.0, 1.0, 1.0]
    assert case.segm_output.flatten().tolist() == [3.0] * 4
