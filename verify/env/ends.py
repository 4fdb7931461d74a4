"""What a cast makes of numbers beyond the largest, of infinities and of NaN."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from fuzz.formats import FORMATS, Format, encode
from verify.env.probe import Answer, Engine, Probe
from verify.env.shown import code_of, witness

LARGEST, INFINITY, NAN, OTHER = "the largest number", "infinity", "NaN", "another number"


def _find(value: float, source: torch.dtype, fmt: Format, engine: Engine, _: int) -> Answer:
    given = torch.tensor([value, -value], dtype=source)
    got = engine.compute("copy", given, into=fmt.torch_dtype)
    said = [_sort_of(x, sign, fmt) for x, sign in zip(got.double().tolist(), (1, -1), strict=True)]
    # For a NaN both are asked with the same value: a sign may not turn it into a number.
    answer = said[0] if said[0] == said[1] else OTHER
    right = torch.tensor([encode(value, fmt)]).to(fmt.int_dtype).view(fmt.torch_dtype)
    return Answer(
        answer=answer,
        witness=witness((given,), got, 0, right),
        measured=_codes(got) if fmt.bits == 8 else {},
    )


def _codes(got: Tensor) -> dict[str, str]:
    """Return the codes of both: an fp8 format has few NaNs, and tables are written for one of them."""
    return {name: f"0x{code_of(x):02x}" for name, x in zip(("code", "of the negative"), got, strict=True)}


def _sort_of(value: float, sign: int, fmt: Format) -> str:
    if math.isnan(value):
        return NAN
    return {sign * fmt.max_value: LARGEST, sign * math.inf: INFINITY}.get(value, OTHER)


def _probe(what: str, value: float, source: str, fmt: Format) -> Probe:
    right = NAN if math.isnan(value) else LARGEST if fmt.saturates else INFINITY
    return Probe(
        name=f"{what}/{source} to {fmt.name}",
        question=f"What does the cast from {source} to {fmt.name} make of {_TEXT[what]}?",
        needs=frozenset(("copy",)),
        answers=tuple(dict.fromkeys((right, LARGEST, INFINITY, NAN, OTHER))),
        follows=_FOLLOWS[what],
        find=partial(_find, value, getattr(torch, source), fmt),
    )


_TEXT = {
    "overflow": "a number beyond its largest",
    "infinite": "infinity",
    "NaN": "NaN",
}
_FOLLOWS = {
    "overflow": "outputs beyond the format's largest, to be saturated in fp8 and infinite in wider formats",
    "infinite": "outputs of a row with an infinite value",
    "NaN": "whether NaN is still told in the output, or a broken row looks like a sound one",
}
_LARGEST_FLOAT32 = FORMATS["float32"].max_value


def _value(what: str, source: str, fmt: Format) -> float:
    beyond = min(2 * fmt.max_value, _LARGEST_FLOAT32) if source == "float32" else 2 * fmt.max_value
    return {"overflow": beyond, "infinite": math.inf, "NaN": math.nan}[what]


PROBES = tuple(
    _probe(what, _value(what, source, fmt), source, fmt)
    for source in ("float32", "float64")
    for fmt in FORMATS.values()
    if fmt.name != source
    for what in _TEXT
)
