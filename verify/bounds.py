"""The bound on the error of every single value, from the numbers in a bounds file.

    |error| ≤ ulp · ulp(exact) + 2^u · Σ loss_i · |c_i| · 2^(m_i) / den
    loss_i  = per_segment · S + constant + per_exponent · |m_i − M|

over the live segments, M their largest maximum, c_i = o_i[r] for an output and s_i for the lse. The
second term is what float64 arithmetic may lose before the final rounding; the derivation stands in
mla_merge/README.md.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

import torch

from fuzz.case import MergeCase

# Read as a file: importing the package would import Triton, and a judge needs no kernel.
DEFAULT_BOUNDS = Path(__file__).resolve().parent.parent / "mla_merge" / "bounds.toml"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The numbers of one bounds file."""

    file: str
    """Folder and name of the file."""
    sha256: str
    """Of its bytes."""
    ulp: float
    """First term, in ulp of the target format."""
    unit_roundoff_log2: int
    """u of the second term: log2 of the unit roundoff of the kernel's arithmetic."""
    per_segment: float
    """Weight of S in the second term."""
    constant: float
    """Roundings that do not grow with the input."""
    per_exponent: float
    """Weight of |m_i − M|: the rounding of the exponent's difference."""


@dataclass(frozen=True, kw_only=True)
class SecondTerms:
    """The second term of the bound for every value of a case, absolute (not in ulp)."""

    output: torch.Tensor
    """[T, H, R] float64."""
    lse: torch.Tensor
    """[T, H] float64, in nats."""


def load_bounds(file: Path = DEFAULT_BOUNDS) -> Bounds:
    """Read a bounds file; raise OSError or ValueError where there is none that can be read."""
    content = file.read_bytes()
    numbers = tomllib.loads(content.decode())["default"]
    return Bounds(file="/".join(file.parts[-2:]), sha256=hashlib.sha256(content).hexdigest(), **numbers)


def second_terms(case: MergeCase, bounds: Bounds) -> SecondTerms:
    """Evaluate the second term for every value; exact to about 1e-12 of itself, which no verdict can feel.

    Where a row has no finite answer the terms are meaningless; the judge does not look at them there.
    """
    m, s = case.segm_max.double(), case.segm_expsum.double()
    segments = m.shape[-1]
    index = torch.arange(segments, device=m.device)
    active = index < case.active.to(m.device)[:, None, None]
    live = active & (m != -torch.inf) & ~((s == 0) & ~m.isnan())
    top = torch.where(live, m, -torch.inf).amax(-1, keepdim=True)
    gap = torch.where(live, (m - top).abs(), 0.0)
    weight = torch.where(live, torch.exp2(-gap), 0.0)
    mass = torch.where(live, s, 0.0) * weight
    # A row without mass has exact results and is granted nothing.
    den = torch.where(live.any(-1, keepdim=True), mass.sum(-1, keepdim=True), 1.0)
    loss = 2.0**bounds.unit_roundoff_log2 * (
        bounds.per_segment * segments + bounds.constant + bounds.per_exponent * gap
    )
    lse = (loss * mass / den).sum(-1)
    share = loss * weight / den
    finite = torch.nan_to_num(case.segm_output.abs(), nan=0.0, posinf=0.0)
    # A dead segment may hold anything; its share is zero.
    output = torch.einsum("ths,thsr->thr", share, finite.double())
    return SecondTerms(output=output, lse=torch.where(_flat(live, m, s), 0.0, lse))


def _flat(live: torch.Tensor, m: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    # One live segment whose m is an integer or whose s is a power of two: nothing is lost on the way to
    # the logarithm, so no second term is granted for it.
    simple = (m == m.round()) | (torch.frexp(s).mantissa == 0.5)
    return (live.sum(-1) == 1) & (live & simple).any(-1)
