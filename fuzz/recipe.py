"""A case in a few words: family, dtype, shape, seed and parameters, and how it becomes tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from fuzz.bits import MAX_EXTENT
from fuzz.case import MergeCase
from fuzz.families import FAMILIES
from fuzz.formats import FORMATS
from fuzz.parameters import Value, among, check
from fuzz.partition import MAX_TILE

MAX_ELEMENTS = 1 << 30
"""Elements of segm_output that a recipe may ask for: 4 GiB of float32."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a case is expanded from; ValueError, one line, when a field is unknown or illegal."""

    family: str
    """Name of the family, a key of FAMILIES."""
    dtype: str
    """Name of the output format, a key of FORMATS."""
    tokens: int
    """T."""
    heads: int
    """H."""
    segments: int
    """S."""
    rank: int
    """R."""
    tile_size: int
    """Keys in one tile of the producer."""
    seed: int
    """Seed of the hash, 0 … 2^64 − 1."""
    params: Mapping[str, Value] = field(default_factory=dict)
    """The family's own parameters, all of them."""

    def __post_init__(self) -> None:
        if not isinstance(self.family, str) or self.family not in FAMILIES:
            raise ValueError(f"unknown family {self.family!r}: {among(self.family, tuple(FAMILIES))}")
        if not isinstance(self.dtype, str) or self.dtype not in FORMATS:
            raise ValueError(f"unknown dtype {self.dtype!r}: {among(self.dtype, tuple(FORMATS))}")
        for name in ("tokens", "heads", "segments", "rank"):
            _check_integer(name, getattr(self, name), 1, MAX_EXTENT)
        _check_integer("tile_size", self.tile_size, 1, MAX_TILE)
        _check_integer("seed", self.seed, 0, (1 << 64) - 1)
        elements = self.tokens * self.heads * self.segments * self.rank
        if elements > MAX_ELEMENTS:
            raise ValueError(f"the recipe asks for {elements} elements, at most {MAX_ELEMENTS} are expanded")
        if not isinstance(self.params, Mapping):
            raise ValueError(f"params is {type(self.params).__name__}, an object is wanted")
        check(self.params, FAMILIES[self.family].parameters, f"family {self.family}")

    @property
    def outputs(self) -> int:
        """Number of elements of the output, T · H · R."""
        return self.tokens * self.heads * self.rank

    def to_record(self) -> dict[str, object]:
        """Return the recipe as a JSON object."""
        record = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**record, "params": dict(self.params)}

    def to_json(self) -> str:
        """Return the recipe as one line of JSON with sorted keys: equal recipes give equal text."""
        return json.dumps(self.to_record(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_record(cls, record: object) -> Recipe:
        """Read a JSON object; ValueError in one line says what came and what is wanted."""
        if not isinstance(record, dict):
            raise ValueError(f"the recipe is a JSON {type(record).__name__}, an object is wanted")
        check_fields(record, tuple(item.name for item in fields(cls)), what="recipe")
        return cls(**record)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read a recipe's text; ValueError in one line says what came and what is wanted."""
        return cls.from_record(parsed(text, what="recipe"))


def parsed(text: str, *, what: str) -> object:
    """Return the JSON value of a text from anywhere; ValueError, one line, where it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the {what} is not JSON: {str(error).splitlines()[0]}") from None
    return value


def check_fields(record: Mapping[str, object], wanted: tuple[str, ...], *, what: str) -> None:
    """Raise ValueError, one line, unless the record has exactly the fields wanted."""
    for name in record:
        if name not in wanted:
            raise ValueError(f"unknown {what} field {name!r}: {among(name, wanted)}")
    missing = [name for name in wanted if name not in record]
    if missing:
        raise ValueError(f"the {what} lacks {', '.join(missing)}")


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}, an integer in {low} … {high} is wanted")


def expand(recipe: Recipe, device: str = "cpu") -> MergeCase:
    """Return the case of a recipe; its bits depend on the recipe alone, not on the device or a library."""
    return FAMILIES[recipe.family].build(recipe, device)
