"""Explain a value for people: what came, what is right and the proof, and the segments it is made of."""

from __future__ import annotations

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.campaign.findings import number_of, place
from verify.observed import Fault, decimal
from verify.oracle.certificate import certify
from verify.oracle.target import TargetFormat


def explain_case(case: MergeCase) -> list[str]:
    """Return the case's shape, and its recipe if it has one."""
    lines = [
        f"case T={case.T} H={case.H} S={case.S} R={case.R} tile={case.tile_size} dtype={case.out_dtype} "
        f"layout={case.layout} domain={case.domain.value}"
    ]
    return [*lines, f"recipe {case.recipe.to_json()}"] if case.recipe is not None else lines


def explain_fault(case: MergeCase, fault: Fault) -> list[str]:
    """Return what a fault is and, if it has a place, the values and the segments there."""
    lines = ["", f"{fault.kind.value} noticed by {fault.detector}: {fault.message}"]
    if fault.where is None:
        return lines
    lines.append("at    " + ", ".join(f"{name} {index}" for name, index in (place(fault) or {}).items()))
    numbers = {
        "got": number_of(fault.got, fault, case, fault.code),
        "exact": number_of(fault.exact, fault, case),
    }
    for name, number in numbers.items():
        if number is not None:
            lines.append(f"{name:<5} {number.dec}  {number.hex}  {number.bits}".rstrip())
    if fault.ulp is not None:
        lines.append(f"error {fault.ulp:.6g} ulp, {fault.steps} steps, bound {fault.bound:.6g} ulp")
    return lines + explain_value(case, *fault.where)


def explain_value(case: MergeCase, token: int, head: int, column: int | None = None) -> list[str]:
    """Return the proof of one output, of the lse where no column is named, and the row's active segments."""
    active = int(case.active[token])
    m = case.segm_max[token, head, :active].double()
    s = case.segm_expsum[token, head, :active].double()
    o = case.segm_output[token, head, :active, column or 0].double()
    length = f"L {int(case.seq_lens[token])}: {active} of {case.S} segments active"
    fmt = FORMATS["float32" if column is None else case.out_dtype]
    proof = _proof(m.tolist(), s.tolist(), None if column is None else o.tolist(), fmt)
    return [proof, length, *_table(m, s, o, "o" if column is not None else "o[0]")]


def _proof(m: list[float], s: list[float], o: list[float] | None, fmt: TargetFormat) -> str:
    try:
        return f"proof {certify(m, s, o, fmt)}"
    except ValueError as error:  # no arithmetic decides the value
        return f"proof {error}"


def _table(m: torch.Tensor, s: torch.Tensor, o: torch.Tensor, title: str) -> list[str]:
    """Return m, s, o of each segment with its weight against the largest and its share of the mass."""
    if not m.numel():
        return []
    live = (m != -torch.inf) & ~((s == 0) & ~m.isnan())
    top = m[live].max() if bool(live.any()) else torch.tensor(0.0)
    weight = torch.where(live, torch.exp2(m - top), 0.0)
    mass = torch.where(live, s * weight, 0.0)
    share = mass / mass.sum()
    lines = ["".join(f"{name:>16}" for name in ("segment", "m", "s", title, "weight", "share"))]
    for i in range(m.numel()):
        cells = [decimal(float(value)) for value in (m[i], s[i], o[i])]
        cells += [f"{float(weight[i]):.3g}", f"{float(share[i]):.3%}"] if bool(live[i]) else ["empty", "-"]
        lines.append("".join(f"{cell:>16}" for cell in (str(i), *cells)))
    return lines
