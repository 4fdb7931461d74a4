"""An audit as tables in Markdown, as lines on a screen, and as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from verify.audit.compile import Compiled
from verify.audit.documented import Documented, Kind
from verify.audit.flow import Role
from verify.audit.reading import Item, Reading, table_of
from verify.audit.verdict import Complaint

SCHEMA = "mla-merge-audit/1"
_NAMED = 3  # opcodes of a class that a cell names
_COUNTED = (Kind.TRANSCENDENTAL, Kind.DIVISION, Kind.CONVERSION, Kind.CLAMP)
_HEADER = ("target", "kernels", *_COUNTED, "fp32 arithmetic", "registers", "spilled bytes", "errors", "bound")


def counts(readings: Sequence[Reading]) -> dict[Kind, Counter[str]]:
    """Count the opcodes of each class over all kernels of a target; an unknown opcode is arithmetic."""
    found: dict[Kind, Counter[str]] = {kind: Counter() for kind in Kind}
    for reading in readings:
        for item, count in reading.items.items():
            kind = item.documented.kind if item.documented else Kind.ARITHMETIC
            found[kind][item.opcode] += count
        for function, count in reading.functions.items():
            found[Kind.TRANSCENDENTAL][function.label] += count
    return found


def overview(
    compiled: Sequence[Compiled], complaints: Mapping[str, Sequence[Complaint]], bounds: Mapping[str, str]
) -> str:
    """Return a row for every target."""
    lines = [_row(_HEADER), "| --- " * len(_HEADER) + "|"]
    for one in compiled:
        by_kind = counts(one.readings)
        name = one.target.name
        lines.append(
            _row(
                (
                    name,
                    str(len(one.readings)),
                    *(_cell(by_kind[kind]) for kind in _COUNTED),
                    str(_single(one.readings) or "none"),
                    _largest([reading.resources.registers for reading in one.readings]),
                    _largest([reading.resources.spilled_bytes for reading in one.readings]),
                    str(len(complaints[name]) + len(one.broken)),
                    bounds[name],
                )
            )
        )
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(opcodes: Counter[str]) -> str:
    named = [f"{count} `{opcode}`" for opcode, count in opcodes.most_common(_NAMED)]
    left = opcodes.total() - sum(count for _, count in opcodes.most_common(_NAMED))
    return ", ".join([*named, *([f"{left} others"] if left else [])]) or "none"


def _single(readings: Sequence[Reading]) -> int:
    """Count arithmetic that rounds to float32 or less, steps of integer divisions apart."""
    return sum(
        count
        for reading in readings
        for item, count in reading.items.items()
        if item.role is Role.OWN
        and item.documented is not None
        and item.documented.kind is Kind.ARITHMETIC
        and 0 < item.documented.bits <= 24
    )


def _largest(numbers: Sequence[int | None]) -> str:
    known = [number for number in numbers if number is not None]
    return str(max(known)) if known else "not known"


def instruction_table(compiled: Sequence[Compiled]) -> str:
    """Return a row for every opcode and function that occurs, with what is documented of it."""
    header = (
        "targets",
        "instruction",
        "class",
        "role",
        "count",
        "error, ulp",
        "flushes",
        "documented",
        "source",
    )
    found: dict[tuple[str, str, str, str, str, str, str], dict[str, int]] = {}
    for one in compiled:
        for reading in one.readings:
            for item, count in reading.items.items():
                key = (f"`{item.opcode}`", *_documented(item.documented), item.role, _yes(item))
                by_target = found.setdefault(key, {})
                by_target[one.target.name] = by_target.get(one.target.name, 0) + count
            for function, count in reading.functions.items():
                line = table_of(one.target).function(function.label)
                key = (f"function `{function.label}`", *_documented(line), Role.OWN, "no")
                by_target = found.setdefault(key, {})
                by_target[one.target.name] = by_target.get(one.target.name, 0) + count
    lines = [_row(header), "| --- " * len(header) + "|"]
    for (opcode, kind, ulp, note, source, role, flushes), by_target in sorted(
        found.items(), key=lambda entry: (list(Kind).index(Kind(entry[0][1])), entry[0])
    ):
        total = ", ".join(str(count) for count in by_target.values())
        lines.append(_row((", ".join(by_target), opcode, kind, role, total, ulp, flushes, note, source)))
    return "\n".join(lines)


def _documented(line: Documented | None) -> tuple[str, str, str, str]:
    if line is None:
        return Kind.ARITHMETIC, "not known", "nothing", "none"
    return line.kind, f"{line.ulp:g}", line.note, line.source


def _yes(item: Item) -> str:
    return "yes" if item.flushes else "no"


def kernel_table(compiled: Sequence[Compiled]) -> str:
    """Return a row for every kernel of every target."""
    header = ("target", "kernel", "registers", "spilled bytes", "warps", "contracts", "first launched by")
    lines = [_row(header), "| --- " * len(header) + "|"]
    for one in compiled:
        for reading in one.readings:
            taken, options = reading.resources, reading.options
            aside = f" ({taken.scalars_kept_aside} scalars aside)" if taken.scalars_kept_aside else ""
            lines.append(
                _row(
                    (
                        one.target.name,
                        f"`{reading.name}` at {reading.place}",
                        f"{_largest([taken.registers])}{aside}",
                        _largest([taken.spilled_bytes]),
                        str(options.get("num_warps")),
                        "yes" if options.get("enable_fp_fusion") else "no",
                        "; ".join(reading.calls),
                    )
                )
            )
    return "\n".join(lines)


def to_data(
    compiled: Sequence[Compiled], complaints: Mapping[str, Sequence[Complaint]], bounds: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the targets as plain data."""
    return [
        {
            "target": asdict(one.target),
            "bound": bounds[one.target.name],
            "counts": {kind.value: dict(opcodes) for kind, opcodes in counts(one.readings).items()},
            "complaints": [
                {**asdict(complaint), "line": str(complaint)} for complaint in complaints[one.target.name]
            ],
            "not_compiled": one.failed,
            "kernels": [_kernel(one, reading) for reading in one.readings],
            "seconds": one.seconds,
        }
        for one in compiled
    ]


def _ulp(line: Documented) -> float | str:
    # JSON has no word for infinity.
    return line.ulp if math.isfinite(line.ulp) else str(line.ulp)


def _kernel(one: Compiled, reading: Reading) -> dict[str, Any]:
    return {
        "name": reading.name,
        "kernel": reading.kernel,
        "place": reading.place,
        "assembly": f"{one.target.name}/{reading.name}.{one.target.assembly}",
        "resources": asdict(reading.resources),
        "constants": reading.constants,
        "signature": reading.signature,
        "options": reading.options,
        "calls": list(reading.calls),
        "functions": [{**asdict(function), "count": count} for function, count in reading.functions.items()],
        "instructions": [
            {
                "opcode": item.opcode,
                "place": item.place,
                "role": item.role.value,
                "flushes": item.flushes,
                "count": count,
                "ulp": None if item.documented is None else _ulp(item.documented),
                "source": None if item.documented is None else item.documented.source,
            }
            for item, count in reading.items.items()
        ],
    }
