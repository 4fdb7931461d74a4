"""Try laws on a merge that is at hand, on drawn cases and on written ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from fuzz.bits import Stream
from fuzz.case import Domain, MergeCase
from fuzz.draw import draw_recipe
from fuzz.recipe import expand
from verify.bounds import Bounds, load_bounds
from verify.laws import LAWS, Called, Trial
from verify.laws.conditions import segments_of
from verify.laws.order import sensitive_to_order
from verify.museum.honest import Merge
from verify.subjects.call import call_subject
from verify.subjects.load import Subject

BOUNDS = load_bounds()
HONEST = Merge()
BITWISE = ("repeat", "batch", "neighbours", "position", "tail", "empties", "strides", "outputs")
BITWISE_IF_EXACT = ("shift", "scale", "mass")
"""The laws that compare bits, on a case that is sensitive to the order of addition."""


@cache
def drawn(number: int) -> MergeCase:
    """Return a case of the drawn stream, of any family and format, with at most 8 rows of 9 columns."""
    recipe = draw_recipe(5, number)
    tokens, heads = 1 + number % 4, 1 + number // 4 % 2
    segments, rank = min(recipe.segments, 24), min(recipe.rank, 9)
    return expand(replace(recipe, tokens=tokens, heads=heads, segments=segments, rank=rank))


def written(
    m: Any, s: Any, o: Any, *, lengths: list[int] | None = None, dtype: str = "float32", tile: int = 1
) -> MergeCase:
    """Return a case from m and s [T, H, S] and o [T, H, S, R]; by default every segment is active."""
    maxima = torch.tensor(m, dtype=torch.float32)
    segments = maxima.shape[-1]
    return MergeCase(
        segm_output=torch.tensor(o, dtype=torch.float32),
        segm_max=maxima,
        segm_expsum=torch.tensor(s, dtype=torch.float32),
        seq_lens=torch.tensor(lengths or [segments * tile] * len(maxima), dtype=torch.int32),
        tile_size=tile,
        out_dtype=dtype,
        domain=Domain.STRESS,
    )


def ordinary(
    *,
    tokens: int = 5,
    heads: int = 3,
    segments: int = 8,
    rank: int = 6,
    dtype: str = "float32",
    seed: int = 0,
) -> MergeCase:
    """Return a case of moderate values: sums round, nothing cancels, the last third is unread."""
    stream = Stream(seed=seed)
    shape = (tokens, heads, segments)
    return MergeCase(
        segm_output=(1 + 3 * stream.unit("o", *shape, rank)).float(),
        segm_max=(1 + 8 * stream.unit("m", *shape)).float(),
        segm_expsum=(1 + 9 * stream.unit("s", *shape)).float(),
        seq_lens=torch.full((tokens,), 16 * (segments - segments // 3), dtype=torch.int32),
        tile_size=16,
        out_dtype=dtype,
        domain=Domain.PRODUCER,
    )


def caller(merge: Callable[..., Any]) -> Callable[[MergeCase], Called]:
    """Return what calls a merge as a campaign does."""
    return lambda case: call_subject(_subject(merge), case)


def _subject(merge: Callable[..., Any]) -> Subject:
    return Subject(name="", import_path="", source_sha256="", merge=merge)


def trial_of(
    merge: Callable[..., Any],
    case: MergeCase,
    *,
    exact: bool = True,
    seed: int = 1,
    bounds: Bounds = BOUNDS,
) -> Trial:
    """Call a merge on a case, which it must survive, and return the trial."""
    call, subject = caller(merge), _subject(merge)
    called = call(case)
    assert called.returned is not None, called.faults
    return Trial(
        case=case,
        returned=called.returned,
        bounds=bounds,
        exact=exact,
        seed=seed,
        call=call,
        into=(lambda case: call_subject(subject, case, into=True)) if subject.takes_outputs else None,
        faults=called.faults,
    )


def checked(law: str, merge: Callable[..., Any], case: MergeCase, **how: Any) -> Any:
    """Return what a law says of one case, a `Checked`."""
    return LAWS[law].check(trial_of(merge, case, **how))


def variants(law: str, case: MergeCase, **how: Any) -> list[MergeCase]:
    """Return the variants that a law runs the honest merge on."""
    return compared(law, case, **how)[1]


def compared(law: str, case: MergeCase, **how: Any) -> tuple[MergeCase, list[MergeCase]]:
    """Return the case that a law compares its variants with, and those."""
    seen: list[MergeCase] = []
    trial = trial_of(HONEST, case, **how)

    def call(variant: MergeCase) -> Called:
        seen.append(variant)
        return trial.call(variant)

    assert LAWS[law].check(replace(trial, call=call)).faults == ()
    bitwise = law in BITWISE or (trial.exact and law in BITWISE_IF_EXACT)
    with_order = bitwise and bool(seen) and sensitive_to_order(case, trial.seed) is not None
    # Where nothing is empty, that law empties a segment of each row first.
    with_empty = law == "empties" and bool(seen) and not bool(segments_of(case).empty.any())
    return (seen[0], seen[1:]) if with_order or with_empty else (case, seen)
