"""Cases in files: one safetensors file with the values and, in its metadata, all that is not a tensor.

A file may come from anywhere. Nothing in it is executed, and everything is checked before use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fuzz.case import Domain, MergeCase
from fuzz.formats import FORMATS
from fuzz.layouts import LAYOUTS, laid_out
from fuzz.parameters import among
from fuzz.recipe import Recipe, check_fields, parsed

SCHEMA: Final = "mla-merge-case/1"
"""Value of the field `schema`."""

MAX_BYTES: Final = 1 << 30
"""Largest file that is read."""

_MAX_REASON: Final = 400
"""Characters of a reason: a hostile file's own words are not repeated at length."""

_TENSORS: Final = {
    "segm_output": (4, ("F32",)),
    "segm_max": (3, ("F32",)),
    "segm_expsum": (3, ("F32",)),
    "seq_lens": (1, ("I32", "I64")),
}
"""Dimensions and dtypes, in the names of safetensors, of each tensor of a file."""

_FIELDS: Final = ("schema", "tile_size", "out_dtype", "domain", "layout", "recipe")
"""Fields of the JSON object in the metadata's only entry, `case`: several would have no fixed order."""


def save_case(case: MergeCase, path: str | os.PathLike[str]) -> None:
    """Write a case, replacing the file only when all of it is written; OSError where that fails.

    Values are stored contiguous, and the layout by its name. Equal cases give equal bytes.
    """
    record = {
        "schema": SCHEMA,
        "tile_size": case.tile_size,
        "out_dtype": case.out_dtype,
        "domain": case.domain.value,
        "layout": case.layout,
        "recipe": None if case.recipe is None else case.recipe.to_record(),
    }
    metadata = {"case": json.dumps(record, sort_keys=True, allow_nan=False)}
    tensors = {name: getattr(case, name).detach().cpu().contiguous() for name in _TENSORS}
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(save(tensors, metadata))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load_case(path: str | os.PathLike[str]) -> MergeCase:
    """Read a case onto the CPU; ValueError, one line that names the file, for anything that is not one."""
    try:
        return _load(Path(path))
    except (OSError, ValueError, SafetensorError, RuntimeError, TypeError, KeyError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"{os.fspath(path)}: {' '.join(reason.split())[:_MAX_REASON]}") from None


def _load(path: Path) -> MergeCase:
    if not path.is_file():
        raise ValueError("not a file" if path.exists() else "no such file")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"{size} bytes, at most {MAX_BYTES} are read")
    with safe_open(path, framework="pt") as file:
        record = _checked_record(file.metadata() or {})
        names = sorted(file.keys())
        if names != sorted(_TENSORS):
            raise ValueError(
                f"holds the tensors {', '.join(names)}, wanted are {', '.join(sorted(_TENSORS))}"
            )
        for name, (dimensions, dtypes) in _TENSORS.items():
            part = file.get_slice(name)
            if part.get_dtype() not in dtypes or len(part.get_shape()) != dimensions:
                raise ValueError(
                    f"{name} is {part.get_dtype()} of {len(part.get_shape())} dimensions, "
                    f"{' or '.join(dtypes)} of {dimensions} is wanted"
                )
        tensors: dict[str, torch.Tensor] = {name: file.get_tensor(name).clone() for name in _TENSORS}
    o, m, s, seq_lens = laid_out(record["layout"], *tensors.values())
    return MergeCase(
        segm_output=o,
        segm_max=m,
        segm_expsum=s,
        seq_lens=seq_lens,
        tile_size=record["tile_size"],
        out_dtype=record["out_dtype"],
        domain=Domain(record["domain"]),
        layout=record["layout"],
        recipe=None if record["recipe"] is None else Recipe.from_record(record["recipe"]),
    )


def _checked_record(metadata: Mapping[str, str]) -> dict[str, Any]:
    if list(metadata) != ["case"]:
        raise ValueError("the metadata has no entry 'case', or others beside it: not a case file")
    record = parsed(metadata["case"], what="case")
    if not isinstance(record, dict):
        raise ValueError(f"the case is a JSON {type(record).__name__}, an object is wanted")
    if record.get("schema") != SCHEMA:
        raise ValueError(f"schema is {record.get('schema')!r}, {SCHEMA!r} is wanted")
    check_fields(record, _FIELDS, what="case")
    if not isinstance(record["tile_size"], int) or isinstance(record["tile_size"], bool):
        raise ValueError(f"tile_size is {record['tile_size']!r}, an integer is wanted")
    names = {"out_dtype": tuple(FORMATS), "domain": tuple(Domain), "layout": tuple(LAYOUTS)}
    for name, known in names.items():
        if not isinstance(record[name], str) or record[name] not in known:
            raise ValueError(f"{name} is {record[name]!r}: {among(record[name], known)}")
    return record
