"""What a finding tells of a fault's row: its inputs, what came, what is right and the proof of it."""

from __future__ import annotations

from typing import Any

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, encode
from reports.records import Number
from verify.bounds.rows import rows_of
from verify.observed import Fault, decimal
from verify.oracle.certificate import certify
from verify.oracle.target import Base
from verify.subjects.convention import Convention

_MOST = 16  # segments that are told in full
_SHOWN = 8  # and those in the lines for people


def proof_of(case: MergeCase, fault: Fault, convention: Convention) -> str:
    """Return the enclosure that proves the value at a fault, in one line; empty where it has no place."""
    if fault.where is None:
        return ""
    token, head = fault.where[:2]
    active = int(case.active[token])
    m, s = (values[token, head, :active].double().tolist() for values in (case.segm_max, case.segm_expsum))
    of_output = fault.result == "output"
    column = fault.where[2] if of_output and len(fault.where) > 2 else 0
    o = case.segm_output[token, head, :active, column].double().tolist() if of_output else None
    fmt = FORMATS[case.out_dtype if of_output else "float32"]
    try:
        claim = certify(m, s, o, fmt, base=convention.base, lse_base=convention.lse_base or Base.E)
    except ValueError as error:  # no arithmetic decides the value
        return str(error)
    return str(claim)


def segments_of(case: MergeCase, fault: Fault, base: Base) -> tuple[dict[str, Any], ...]:
    """Return the active segments of a fault's row, at most 16: what is not finite, then the largest shares.

    Each has m, s and o (of the fault's column, else of the first) as `dec` and `hex`, its weight base^(m − M)
    and its share of the mass; these are None for an empty one.
    """
    if fault.where is None or not case.outputs:
        return ()
    token, head, column = (*fault.where, 0)[:3]
    one = MergeCase(
        segm_output=case.segm_output[token, head, :, column].reshape(1, 1, case.S, 1),
        segm_max=case.segm_max[token, head].reshape(1, 1, case.S),
        segm_expsum=case.segm_expsum[token, head].reshape(1, 1, case.S),
        seq_lens=case.seq_lens[token].reshape(1),
        tile_size=case.tile_size,
        out_dtype=case.out_dtype,
        domain=case.domain,
    )
    active, rows = int(one.active[0]), rows_of(one, base)
    live, weight = rows.live.flatten().tolist(), rows.weight.flatten().tolist()
    share = (rows.mass * rows.weight / rows.den[..., None]).flatten().tolist()
    values = {
        "m": one.segm_max.flatten().double(),
        "s": one.segm_expsum.flatten().double(),
        "o": one.segm_output.flatten().double(),
    }
    finite = [all(bool(x[n].isfinite()) for x in values.values()) for n in range(active)]
    first = sorted(range(active), key=lambda n: (finite[n], -share[n], n))[:_MOST]
    return tuple(
        {
            "segment": n,
            **{name: {"dec": decimal(float(x[n])), "hex": float(x[n]).hex()} for name, x in values.items()},
            "weight": weight[n] if live[n] else None,
            "share": share[n] if live[n] else None,
        }
        for n in sorted(first)
    )


def place(fault: Fault) -> dict[str, int] | None:
    """Name the coordinates of a fault."""
    if fault.where is None:
        return None
    return dict(zip(("token", "head", "column"), fault.where, strict=False))


def row_values(case: MergeCase, fault: Fault) -> dict[str, str]:
    """Write out the inputs of the failing row, the first one where no row is named."""
    token, head, column = (*(fault.where or ()), 0, 0, 0)[:3]
    if not case.outputs:
        return {}
    rows = {
        "m": case.segm_max[token, head],
        "s": case.segm_expsum[token, head],
        "o": case.segm_output[token, head, :, column],
    }
    active = f"tile {case.tile_size}: {int(case.active[token])} of {case.S} segments active"
    written = {"L": f"{int(case.seq_lens[token])} ({active})", "dtype": case.out_dtype}
    for name, row in rows.items():
        shown = ", ".join(decimal(value) for value in row[:_SHOWN].tolist())
        written[name] = f"[{shown}{f', … {case.S} in all' if case.S > _SHOWN else ''}]"
    return written


def number_of(value: float | None, fault: Fault, case: MergeCase, code: int | None = None) -> Number | None:
    """Write a result of the fault's format in the three forms of a report; `code` are its bits if known."""
    if value is None:
        return None
    fmt = FORMATS["float32" if fault.result == "lse" else case.out_dtype]
    bits = encode(value, fmt) if code is None else code
    return Number(dec=decimal(value), hex=value.hex(), bits=f"0x{bits:0{fmt.bits // 4}x}")
