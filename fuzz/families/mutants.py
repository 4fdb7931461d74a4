"""Relatives of one row that a run has met: the hunt's family, which no stream draws.

The recipe holds the row itself (see fuzz/mutation.py). Row 0, column 0 is that row's column unchanged; every
other row changes the statistics of it, and every other column its values, in ways that take turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from fuzz.bits import power_of_two, scale_by_power
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family
from fuzz.float_codes import flipped, stepped, values_of
from fuzz.parameters import Flag, Span, Text
from fuzz.partition import active_segments

NAN, INF = float("nan"), float("inf")

MOST_SEGMENTS: Final = 512
"""Active segments that a recipe has room for."""

HEX: Final = Text(pattern="([0-9a-f]{8})*", longest=8 * MOST_SEGMENTS)
"""float32 bits in hexadecimal, eight digits a segment."""

ROWS: Final = (
    "same",
    "stepped",
    "rescaled",
    "flipped",
    "scaled",
    "gap",
    "swapped",
    "shifted",
    "emptied",
    "special",
    "patterns",
)
"""What a row does to its m and s: nothing; float32 steps in about half of the segments; s and o·2^k with
m − k in all; a bit of one; s·2^k in one; one maximum at a threshold below the largest; two segments
exchanged; m + k in all; one segment empty; a special number in one; any bits in one."""

COLUMNS: Final = (
    "stepped",
    "all_stepped",
    "flipped",
    "same",
    "scaled",
    "all_scaled",
    "negated",
    "swapped",
    "special",
    "patterns",
)
"""What a column does to its o: the same in one segment, or in all."""

_ROWS_OF: Final = (4, 8, 10, len(ROWS))
_COLUMNS_OF: Final = (4, 8, 9, len(COLUMNS))
_STEPS_OF: Final = (1, 4, 256, 1 << 20)
_BITS_OF: Final = (2, 8, 20, 32)
_POWERS_OF: Final = (1, 3, 24, 100)
"""By strength: how many of the kinds take turns, and how far each goes."""

GAPS: Final = (24.0, 53.0, 126.0, 127.0, 149.0, 150.0, *(2.0**k for k in range(-4, 12)))
"""Thresholds between maxima; in strong mutants any whole number up to 600 as well."""

EMPTY: Final = ((-INF, 1.0, 0.0), (0.0, 0.0, 0.0), (-INF, NAN, NAN), (-INF, 0.0, 0.0), (INF, 0.0, 1.0))
"""(m, s, o) of an emptied segment."""

SPECIAL: Final = (
    0.0,
    -0.0,
    2.0**-149,
    2.0**-126,
    -1.0,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    INF,
    -INF,
    NAN,
)


@dataclass(frozen=True, kw_only=True)
class Bits:
    """A random word for each place, cut into fields."""

    words: torch.Tensor
    """int64."""

    def below(self, start: int, limit: int) -> torch.Tensor:
        """Return integers in 0 … limit − 1 from the 12 bits at `start`, int32."""
        return ((self.words >> start) & 0xFFF).to(torch.int32) % limit

    def between(self, start: int, most: int) -> torch.Tensor:
        """Return integers in −most … most but 0, int32; beyond 4096 in steps."""
        number = self.below(start, 2 * min(most, 1024))
        half = min(most, 1024)
        return torch.where(number < half, number - half, number - half + 1) * (most // half)


def _fill(draft: Draft) -> None:
    recipe, params = draft.recipe, draft.recipe.params
    length, strength = int(params["length"]), int(params["strength"])
    draft.lengths = torch.full((recipe.tokens,), length, dtype=torch.int64)
    if params["wide"] or not -(2**31) <= length < 2**31:
        draft.length_dtype = torch.int64
    draft.tail = ("plausible", "nan", "zero")  # those that need no hash of each element
    parent = [values_of(str(params[name]))[: recipe.segments] for name in ("m", "s", "o")]
    m, s, o = (
        torch.cat((known, known.new_full((recipe.segments - known.numel(),), plain)))
        .expand(draft.stat_shape)
        .clone()
        for known, plain in zip(parent, (0.0, 1.0, 1.0), strict=True)
    )
    count = active_segments(length, recipe.segments, recipe.tile_size)
    draft.m, draft.s, draft.o = m, s, o[..., None].expand(draft.shape)
    if count == 0:
        return
    draft.m, draft.s, o = _rows(draft, m, s, o, count, strength)
    draft.o = _columns(draft, o[..., None].expand(draft.shape).contiguous(), count, strength)


def _rows(
    draft: Draft, m: torch.Tensor, s: torch.Tensor, o: torch.Tensor, count: int, strength: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return m, s, o [T, H, S] changed row by row."""
    row = Bits(words=draft.stream.words("row", *draft.row_shape)[..., None])
    each = Bits(words=draft.stream.words("segment", *draft.stat_shape))
    kind = (draft.row + int(draft.stream.below("turn", len(ROWS), 1)[0])) % _ROWS_OF[strength]
    kind = torch.where(draft.row == 0, ROWS.index("same"), kind)[..., None]
    first, second = row.below(0, count), row.below(12, count)
    one, other = draft.index == first, draft.index == second
    of_m = row.below(24, 2) == 0
    some = each.below(0, 2) == 0
    power = row.between(36, _POWERS_OF[strength])

    def here(name: str) -> torch.Tensor:
        return kind == ROWS.index(name)

    steps = each.between(12, _STEPS_OF[strength])
    m = torch.where(here("stepped") & some, stepped(m, steps), m)
    s = torch.where(here("stepped") & (each.below(24, 2) == 0), stepped(s, steps), s)

    # Equal in real arithmetic wherever float32 holds all three.
    lift = each.between(36, _POWERS_OF[strength])
    m = torch.where(here("rescaled"), (m.double() - lift).float(), m)
    s = torch.where(here("rescaled"), _scaled(s, lift), s)
    o = torch.where(here("rescaled"), _scaled(o, lift), o)

    bit = row.below(48, _BITS_OF[strength])
    m = torch.where(here("flipped") & one & of_m, flipped(m, bit), m)
    s = torch.where(here("flipped") & one & ~of_m, flipped(s, bit), s)
    s = torch.where(here("scaled") & one, _scaled(s, power), s)
    m = torch.where(
        here("gap") & one & (draft.index < count), _at_gap(draft, m, row, one, count, strength), m
    )
    m = torch.where(here("shifted"), (m.double() + power).float(), m)

    exchange = torch.where(one, second, torch.where(other, first, draft.index.to(torch.int32)))
    exchange = torch.where(here("swapped"), exchange, draft.index).to(torch.int64)
    m, s, o = (tensor.gather(-1, exchange) for tensor in (m, s, o))

    for number, (empty_m, empty_s, empty_o) in enumerate(EMPTY):
        chosen = here("emptied") & one & (row.below(36, len(EMPTY)) == number)
        m, s, o = (
            m.masked_fill(chosen, empty_m),
            s.masked_fill(chosen, empty_s),
            o.masked_fill(chosen, empty_o),
        )
    for number, value in enumerate(SPECIAL):
        chosen = here("special") & one & (row.below(36, len(SPECIAL)) == number)
        m, s = m.masked_fill(chosen & of_m, value), s.masked_fill(chosen & ~of_m, value)
    m = torch.where(here("patterns") & one & of_m, draft.stream.patterns("m", *draft.stat_shape), m)
    s = torch.where(here("patterns") & one & ~of_m, draft.stream.patterns("s", *draft.stat_shape), s)
    return m, s, o


def _scaled(values: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """Return values · 2^e rounded to float32; NaN keeps its bits."""
    return torch.where(values.isnan(), values, scale_by_power(values, exponents).to(torch.float32))


def _at_gap(
    draft: Draft, m: torch.Tensor, row: Bits, one: torch.Tensor, count: int, strength: int
) -> torch.Tensor:
    """Return m with the chosen segment a threshold below the largest of the others, or a step beside that."""
    others = torch.where((draft.index < count) & ~one & m.isfinite(), m, -INF)
    top = others.amax(dim=-1, keepdim=True).double()
    gap = torch.tensor(GAPS, dtype=torch.float64)[row.below(36, len(GAPS)).to(torch.int64)]
    if strength > 1:
        gap = torch.where(row.below(48, 2) == 0, row.below(36, 601).double(), gap)
    beside = (row.below(50, 3) - 1).double() * 2.0**-16
    moved = (top - gap + beside).to(torch.float32)
    return torch.where(top == -INF, m, moved)


def _columns(draft: Draft, o: torch.Tensor, count: int, strength: int) -> torch.Tensor:
    """Change o [T, H, S, R] in place, column by column, all but column 0 of row 0; and return it."""
    word = Bits(words=draft.stream.words("column", *draft.row_shape, draft.recipe.rank))
    kind = word.below(0, _COLUMNS_OF[strength])
    kind[0, 0, 0] = COLUMNS.index("same")
    first, second = (word.below(start, count).to(torch.int64)[:, :, None] for start in (12, 24))
    old = o.gather(2, first)[:, :, 0]
    exchanged = o.gather(2, second)[:, :, 0]
    power = word.between(36, _POWERS_OF[strength])

    def here(name: str) -> torch.Tensor:
        return kind == COLUMNS.index(name)

    new = torch.where(here("stepped"), stepped(old, word.between(36, _STEPS_OF[strength])), old)
    new = torch.where(here("flipped"), flipped(old, word.below(48, _BITS_OF[strength])), new)
    new = torch.where(here("scaled"), _scaled(old, power), new)
    new = torch.where(here("negated"), flipped(old, torch.full_like(kind, 31)), new)
    new = torch.where(here("swapped"), exchanged, new)
    if strength > 1:
        special = torch.tensor(SPECIAL)[word.below(48, len(SPECIAL)).to(torch.int64)]
        new = torch.where(here("special"), special, new)
        any_bits = ((word.words >> 4).to(torch.int32) ^ (word.words >> 32).to(torch.int32)).view(
            torch.float32
        )
        new = torch.where(here("patterns"), any_bits, new)
    o.scatter_(2, first, new[:, :, None])
    o.scatter_(2, second, torch.where(here("swapped"), old, o.gather(2, second)[:, :, 0])[:, :, None])

    # One word gives every segment two bits: a step down, none, none, or up.
    all_stepped, all_scaled = here("all_stepped"), here("all_scaled")
    factor = torch.where(all_scaled, power_of_two(power.clamp(-126, 126)), 1.0).to(torch.float32)
    most = torch.where(all_stepped, _STEPS_OF[strength], 0).to(torch.int32)
    for segment in range(count):
        part = o[:, :, segment]
        two = ((word.words >> (12 + 2 * (segment % 24))) & 3).to(torch.int32)
        part = stepped(part, (two // 3 - (two == 0).to(torch.int32)) * most)
        o[:, :, segment] = torch.where(part.isnan(), part, part * factor)
    return o


FAMILY = Family(
    name="mutants",
    domain=Domain.STRESS,
    promise="Column 0 of row 0 is the row that the recipe holds, and all others are changed from it, by as "
    "much as the strength allows.",
    fill=_fill,
    parameters={
        "length": Span(low=-(2**63), high=2**63 - 1),
        "wide": Flag(),
        "m": HEX,
        "s": HEX,
        "o": HEX,
        "strength": Span(low=0, high=3),
    },
)
