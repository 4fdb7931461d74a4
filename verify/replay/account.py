"""The account of one value: what is right and the proof, what came, and the segments it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from fuzz.case import MergeCase
from fuzz.formats import FORMATS, encode
from verify.bounds.rows import rows_of
from verify.campaign.row import number_of, place
from verify.observed import Fault, decimal
from verify.oracle.certificate import certify
from verify.oracle.evaluate import evaluate
from verify.oracle.target import Base, Kind
from verify.oracle.values import ExactValues
from verify.subjects.convention import SEGMENTS, Convention

MOST_SEGMENTS = 64
"""Segments of a row that are written out; of more, those that matter most."""


def account_of_case(case: MergeCase) -> list[str]:
    """Return the case's shape, and its recipe if it has one."""
    lines = [
        f"case T={case.T} H={case.H} S={case.S} R={case.R} tile={case.tile_size} dtype={case.out_dtype} "
        f"layout={case.layout} domain={case.domain.value}"
    ]
    return [*lines, f"recipe {case.recipe.to_json()}"] if case.recipe is not None else lines


def account_of_fault(case: MergeCase, fault: Fault, convention: Convention = SEGMENTS) -> list[str]:
    """Return what a fault is and, if it has a place, the account of the value there."""
    lines = ["", f"{fault.kind.value} noticed by {fault.detector}: {fault.message}"]
    if fault.where is None:
        return lines
    account = account_of_value(case, *fault.where, convention=convention)
    return [*lines, *account_of_result(case, fault), *account]


def account_of_result(case: MergeCase, fault: Fault) -> list[str]:
    """Return where a fault is, what came and what is right in decimal, hex and bits, and the error."""
    lines = ["at    " + ", ".join(f"{name} {index}" for name, index in (place(fault) or {}).items())]
    numbers = {
        "got": number_of(fault.got, fault, case, fault.code),
        "exact": number_of(fault.exact, fault, case),
    }
    for name, number in numbers.items():
        if number is not None:
            lines.append(f"{name:<5} {number.dec}  {number.hex}  {number.bits}".rstrip())
    if fault.ulp is not None:
        bound = f", bound {fault.bound:.6g} ulp" if fault.bound is not None else ""
        lines.append(f"error {fault.ulp:.6g} ulp, {fault.steps} steps{bound}")
    return lines


def account_of_value(
    case: MergeCase, token: int, head: int, column: int | None = None, *, convention: Convention = SEGMENTS
) -> list[str]:
    """Return the proof of one output, its value in every dtype and its segments; of the lse without a column.

    The case is one that the convention can say, of which the base of the weights and that of the lse matter.
    """
    row = _row(case, token, head, column or 0)
    active = int(row.active[0])
    length = f"L {int(case.seq_lens[token])}: {active} of {case.S} segments active"
    lines = [_proof(row, active, column is None, convention), length]
    if column is not None:
        lines += ["", *_by_dtype(row, convention.base)]
    return [*lines, "", *_table(row, active, convention.base, of_lse=column is None)] if active else lines


def _row(case: MergeCase, token: int, head: int, column: int) -> MergeCase:
    """Return the case of one output on the CPU."""
    return MergeCase(
        segm_output=case.segm_output[token, head, :, column].reshape(1, 1, case.S, 1).cpu(),
        segm_max=case.segm_max[token, head].reshape(1, 1, case.S).cpu(),
        segm_expsum=case.segm_expsum[token, head].reshape(1, 1, case.S).cpu(),
        seq_lens=case.seq_lens[token].reshape(1).cpu(),
        tile_size=case.tile_size,
        out_dtype=case.out_dtype,
        domain=case.domain,
    )


def _proof(row: MergeCase, active: int, of_lse: bool, convention: Convention) -> str:
    m, s, o = (tensor.flatten()[:active].double().tolist() for tensor in _values(row))
    fmt = FORMATS["float32" if of_lse else row.out_dtype]
    lse_base = convention.lse_base or Base.E
    try:
        claim = certify(m, s, None if of_lse else o, fmt, base=convention.base, lse_base=lse_base)
    except ValueError as error:  # no arithmetic decides the value
        return f"proof {error}"
    return f"proof {claim}"


def _values(row: MergeCase) -> tuple[Tensor, Tensor, Tensor]:
    return row.segm_max, row.segm_expsum, row.segm_output


def _by_dtype(row: MergeCase, base: Base) -> Iterator[str]:
    """Yield the output rounded correctly to each format, its bits and what the rounding costs."""
    yield f"{'rounded to':<18}{'value':>18}{'hex':>26}{'bits':>12}{'error, ulp':>14}"
    inputs = (row.segm_output, row.segm_max, row.segm_expsum, row.active)
    for name, fmt in FORMATS.items():
        exact = evaluate(*inputs, fmt, FORMATS["float32"], base=base, processes=1).output
        value = float(exact.rounded)
        bits = f"0x{encode(value, fmt):0{fmt.bits // 4}x}"
        number = f"{decimal(value):>18}{value.hex():>26}{bits:>12}"
        asked = "  asked for" if name == row.out_dtype else ""
        yield f"{name:<18}{number}{_error(exact):>14}{asked}"


def _error(exact: ExactValues) -> str:
    return f"{-float(exact.residual):+.4f}" if int(exact.kind) == Kind.NUMBER else "-"


def _table(row: MergeCase, active: int, base: Base, *, of_lse: bool) -> Iterator[str]:
    """Yield each active segment: what it holds, its weight against the largest, its parts of the sums."""
    rows = rows_of(row, base)
    live = rows.live.flatten()[:active]
    m, s, o = (tensor.flatten()[:active].double() for tensor in _values(row))
    weight, den = rows.weight.flatten()[:active], float(rows.den)
    share = rows.mass.flatten()[:active] * weight / den
    part = torch.where(live, o * weight / den, 0.0)
    size = share if of_lse else part.abs().nan_to_num(nan=torch.inf)
    largest = int(size.argmax()) if float(size.max()) > 0 else -1
    columns = ["segment", "m", "s", "weight", "share of mass", *([] if of_lse else ["o", "part of output"])]
    yield "".join(f"{name:>16}" for name in columns)
    shown = _most_telling(share, size)
    for i in shown:
        cells = [str(i), decimal(float(m[i])), decimal(float(s[i]))]
        dead = _dead(float(m[i]), float(s[i]))
        cells += [f"{float(weight[i]):.6g}", f"{float(share[i]):.4%}"] if bool(live[i]) else [dead, "-"]
        if not of_lse:
            cells += [decimal(float(o[i])), f"{float(part[i]):.6g}" if bool(live[i]) else "-"]
        yield "".join(f"{cell:>16}" for cell in cells) + ("  largest" if i == largest else "")
    if len(shown) < active:
        yield f"… and {active - len(shown)} more segments, each with a smaller part of the sums"


def _dead(m: float, s: float) -> str:
    """Say why a segment has no part in a sum: it holds nothing, or one of its row makes all of it NaN."""
    return "empty" if m == -math.inf or (s == 0 and not math.isnan(m)) else "row is NaN"


def _most_telling(share: Tensor, size: Tensor) -> list[int]:
    """Return the segments to show, in their order: all of a few, else those with the largest parts."""
    if size.numel() <= MOST_SEGMENTS:
        return list(range(size.numel()))
    most = share + size / size.amax().clamp(min=torch.finfo(torch.float64).tiny)
    return sorted(most.nan_to_num(nan=torch.inf).topk(MOST_SEGMENTS).indices.tolist())
