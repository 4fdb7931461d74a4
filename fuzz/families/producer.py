"""A real attention problem, cut into segments the way a decode kernel does it.

Multi-token verification of several requests with latent attention: the keys are the latent vectors and a
few rotary components, the values are the latent vectors themselves, shared by all heads, and each verify
token has a causal prefix of its own. The parameters add what is strange but real.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from fuzz.attention import Partials, Problem, segmented
from fuzz.bits import power_of_two
from fuzz.case import Domain
from fuzz.draft import Draft
from fuzz.family import Family, Shapes
from fuzz.parameters import ROTATE, Choice, Flag, Span

NAN, INF = float("nan"), float("inf")
LOG2_E: Final = 1.4426950408889634
ROTARY: Final = 8
"""Key components beyond the latent ones."""
REACH: Final = 15
"""Components of q, k and v are integers within ±REACH: every dot product is an exact integer."""

EMPTY_AS: Final[dict[str, tuple[float, float, float] | None]] = {
    "left": None,
    "nan_triple": (-INF, NAN, NAN),
    "no_mass": (-INF, 0.0, 0.0),
}
"""(m, s, o) written for an active segment without a visible key; "left" is what the loop leaves."""

FAULTS: Final = ("none", "poisoned_value", "nan_scores", "inf_scores")
"""Values of the parameter `fault`; any but "none" leaves the producer domain where it strikes."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Who asks, and how much each may see."""

    request: torch.Tensor
    """[T] int64."""
    lengths: torch.Tensor
    """L [T] int64."""
    first: torch.Tensor
    """First visible key [T] int64."""
    end: torch.Tensor
    """End of the causal prefix [T] int64."""


def batch_of(draft: Draft) -> Batch:
    """Return who asks: tokens in groups of `verify`, each with a causal prefix one longer than the last."""
    recipe, params = draft.recipe, draft.recipe.params
    verify = int(params["verify"])
    token = torch.arange(recipe.tokens)
    request, place = token // verify, token % verify
    requests = int(request[-1]) + 1
    # Two tiles a segment at most: that reaches every state, and longer loops only cost time.
    longest = 1 + (int(params["keys"]) - 1) % (2 * recipe.segments * recipe.tile_size)
    context = 1 + draft.stream.below("context", longest, requests)
    context[0] = longest
    end = context[request] + place
    lengths = end
    if params["shared_length"]:
        lengths = context[request] + verify - 1
    first = torch.zeros_like(end)
    if params["window"]:
        width = 1 + draft.stream.below("window", int(longest), requests)[request]
        first = (end - width).clamp_min(0)
    if params["idle"] and recipe.tokens > 1:
        # Padding rows of a captured graph and ranks that own no key of a request: beside others, never alone.
        idle = draft.stream.below("idle", 4, requests) == 0
        idle[0] = False
        lengths = torch.where(idle[request] | (token == recipe.tokens - 1), 0, lengths)
    return Batch(request=request, lengths=lengths, first=first, end=end)


def problem_of(draft: Draft, batch: Batch) -> Problem:
    """Return the scores and values: random integer q, k and v with exact dot products, scaled once."""
    recipe, params, stream = draft.recipe, draft.recipe.params, draft.stream
    requests, longest = int(batch.request[-1]) + 1, max(1, int(batch.end.max()), int(batch.lengths.max()))
    width = recipe.rank + ROTARY
    latent = stream.span("latent", -REACH, REACH, requests, longest, recipe.rank)
    rotary = stream.span("rotary", -REACH, REACH, requests, longest, ROTARY)
    query = stream.span("query", -REACH, REACH, recipe.tokens, recipe.heads, width)
    lean = {"none": 0, "up": 1, "down": -1}[str(params["lean"])]
    if lean:
        # A component that all keys share moves every score of a head the same way.
        rotary[..., 0] = REACH
        query[..., recipe.rank] = lean * 4 * width
    keys = torch.cat((latent, rotary), dim=-1).to(torch.float64)
    # Integers far below 2^53: every order of summation gives the same number.
    dots = torch.stack(
        [q @ keys[r].T for q, r in zip(query.to(torch.float64), batch.request.tolist(), strict=True)]
    )
    # A dot product of `width` such integers has a deviation near 80·√width; 2^spread is what the scores
    # shall have.
    scale = int(params["spread"]) - 6 - (width.bit_length() // 2)
    factor = torch.tensor(LOG2_E, dtype=torch.float64).to(torch.float32) * (2.0**scale)
    scores = dots.to(torch.float32) * factor
    scores = _bad_scores(draft, scores)
    magnitude = power_of_two(torch.tensor(int(params["value_exponent"])))
    sink = None
    if params["sinks"]:
        sink = stream.span("sink", -64, 64, recipe.heads).to(torch.float32) * 0.125
        sink = (sink.to(torch.float64) * LOG2_E).to(torch.float32)
    return Problem(
        scores=scores,
        values=latent.to(torch.float64) * magnitude,
        request=batch.request,
        lengths=batch.lengths,
        first=batch.first,
        end=batch.end,
        sink=sink,
    )


def _bad_scores(draft: Draft, scores: torch.Tensor) -> torch.Tensor:
    """Spoil the scores of one whole tile of keys in about half of the tokens, the first always."""
    bad = {"nan_scores": NAN, "inf_scores": INF}.get(str(draft.recipe.params["fault"]))
    if bad is None:
        return scores
    tile, longest = draft.recipe.tile_size, scores.shape[-1]
    tiles = (longest - 1) // tile + 1
    where = draft.stream.below("bad tile", 1 << 16, draft.recipe.tokens) % tiles
    struck = draft.stream.below("bad token", 2, draft.recipe.tokens) == 0
    where[0], struck[0] = 0, True
    key = torch.arange(longest) // tile
    return torch.where(((key == where[:, None]) & struck[:, None])[:, None], bad, scores)


def _emptied(draft: Draft, partials: Partials) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rewrite the active segments that saw no key, as the recipe's kind of producer does."""
    o, m, s = partials.o, partials.m, partials.s
    kind = draft.kind_of_row("empty_as", tuple(EMPTY_AS))[..., None]
    unseen = (partials.keys == 0)[:, None].expand_as(m).clone()
    if draft.recipe.params["sinks"]:
        unseen[..., 0] = False
    for number, triple in enumerate(EMPTY_AS.values()):
        if triple is not None:
            here = unseen & (kind == number)
            m, s = torch.where(here, triple[0], m), torch.where(here, triple[1], s)
            o = torch.where(here[..., None], triple[2], o)
    return o, m, s


def _poison(draft: Draft, batch: Batch) -> None:
    """Write NaN where a recycled page had NaN after the last key: zero times NaN in the last tile's sum."""
    ragged = (batch.lengths % draft.recipe.tile_size != 0) & (batch.lengths > 0)
    ragged &= draft.stream.below("poisoned token", 4, draft.recipe.tokens) != 0
    last = draft.index == (draft.active - 1).reshape(-1, 1, 1)
    column = draft.stream.below("poisoned column", 3, draft.recipe.rank) == 0
    column[draft.recipe.rank // 2] = True
    draft.o = torch.where((last & ragged.reshape(-1, 1, 1))[..., None] & column, NAN, draft.o)


def _fill(draft: Draft) -> None:
    batch = batch_of(draft)
    draft.lengths = batch.lengths
    partials = segmented(problem_of(draft, batch), draft.recipe.segments, draft.recipe.tile_size)
    draft.o, draft.m, draft.s = _emptied(draft, partials)
    fault = draft.recipe.params["fault"]
    if fault == "poisoned_value":
        _poison(draft, batch)
    if fault != "none":
        draft.domain = Domain.STRESS


FAMILY = Family(
    name="producer",
    domain=Domain.PRODUCER,
    promise="Each case is what a segmented decode kernel leaves of a causal multi-token verification step, "
    "within the producer domain unless the recipe names a fault.",
    fill=_fill,
    parameters={
        "verify": Span(low=1, high=8),
        "keys": Span(low=1, high=2048),
        "spread": Span(low=-4, high=7),
        "value_exponent": Span(low=-16, high=8),
        "lean": Choice(values=("none", "up", "down")),
        "window": Flag(),
        "shared_length": Flag(),
        "sinks": Flag(),
        "idle": Flag(),
        "empty_as": Choice(values=(*EMPTY_AS, ROTATE), usual=ROTATE),
        "fault": Choice(values=FAULTS, usual="none"),
    },
    shapes=Shapes(
        tokens=(1, 2, 4, 6, 8, 12, 16, 24, 96), heads=(1, 2, 8, 12, 16, 24, 48, 64, 96, 128), largest_tile=128
    ),
)
