"""Faults beside the result: inputs that a kernel writes to."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from verify.museum.exhibit import Exhibit, Wing
from verify.museum.honest import Merge

_merge = Merge()


def weights_over_maxima(o: Tensor, m: Tensor, s: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    """Subtract the largest maximum in place after it has merged, to save memory."""
    merged = _merge(o, m, s, *rest)
    m.sub_(m.amax(-1, keepdim=True).clone())
    return merged


def lengths_clamped_in_place(
    o: Tensor, m: Tensor, s: Tensor, seq_lens: Tensor, *rest: Any
) -> tuple[Tensor, Tensor]:
    """Clamp the caller's lengths to at least 1 after it has merged."""
    merged = _merge(o, m, s, seq_lens, *rest)
    seq_lens.clamp_(min=1)
    return merged


def tail_cleared(o: Tensor, m: Tensor, s: Tensor, seq_lens: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    """Clear the values of the last segment where it is not active, for the next kernel that reads them."""
    merged = _merge(o, m, s, seq_lens, *rest)
    idle = _merge.active(seq_lens, m.shape[-1], rest[0]) < m.shape[-1]
    o[:, :, -1][idle] = 0.0
    return merged


def scratch_between_strides(
    o: Tensor, m: Tensor, s: Tensor, seq_lens: Tensor, *rest: Any
) -> tuple[Tensor, Tensor]:
    """Use what lies between the strides of an input as scratch memory."""
    merged = _merge(o, m, s, seq_lens, *rest)
    elements = m.untyped_storage().nbytes() // m.element_size()
    between = m.as_strided((elements,), (1,), 0)
    if elements > m.numel():
        kept = m.clone()
        between.fill_(3.25)
        m.copy_(kept)
    return merged


_COPY = ("input copy",)

input_overwritten = Exhibit(
    name="input_overwritten",
    merge=weights_over_maxima,
    wing=Wing.SIDE_EFFECTS,
    detectors=_COPY,
    families=("odd_shapes", "producer"),
)
lengths_overwritten = Exhibit(
    name="lengths_overwritten",
    merge=lengths_clamped_in_place,
    wing=Wing.SIDE_EFFECTS,
    detectors=_COPY,
    families=("seq_lens",),
)
tail_overwritten = Exhibit(
    name="tail_overwritten",
    merge=tail_cleared,
    wing=Wing.SIDE_EFFECTS,
    detectors=_COPY,
    families=("poisoned_tail", "seq_lens"),
)
padding_overwritten = Exhibit(
    name="padding_overwritten",
    merge=scratch_between_strides,
    wing=Wing.SIDE_EFFECTS,
    detectors=_COPY,
    families=("layouts",),
)
