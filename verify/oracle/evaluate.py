"""Evaluate a whole merge exactly, by the fastest tier that can prove each value."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from verify.oracle.cascade import BLOCK, Cascade
from verify.oracle.target import Base, TargetFormat
from verify.oracle.values import Exact, ExactValues, check_inputs


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: chunks fit a core's cache, and threads that wait for each other cost more.

    Beside other processes the barriers of two threads made it 10 times slower.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def evaluate(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    active: torch.Tensor,
    output_format: TargetFormat,
    lse_format: TargetFormat,
    *,
    base: Base = Base.TWO,
    lse_base: Base = Base.E,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Exact:
    """Return the exact results of a merge, on the device of its inputs.

    segm_output [T, H, S, R], segm_max and segm_expsum [T, H, S], float32 with any strides; active [T], any
    integer dtype: the number of segments that each token's producer wrote. A segment weighs `base`^m, and the
    lse is the logarithm of the mass to `lse_base`. At most `processes` processes
    share the exact tier (default: one per core); `progress(done, rows)` is called as rows are done.
    Raises ValueError where shapes, dtypes, devices or bases differ from that, and PrecisionError where a
    value would need more bits than the oracle's cap.
    """
    check_inputs(segm_output, segm_max, segm_expsum, active)
    base, lse_base = Base(base), Base(lse_base)  # a value that is no base must not be taken for one
    tokens, heads, segments, rank = segm_output.shape
    processes = processes or os.cpu_count() or 1
    cascade = Cascade(
        tokens * heads, rank, segm_output.device, output_format, lse_format, processes, base, lse_base
    )
    rows = max(1, BLOCK[segm_output.device.type] // max(1, segments))
    step = max(1, rows // max(1, heads))
    blocks = [(t, h) for t in range(0, tokens, step) for h in range(0, heads, rows)]
    with _one_thread():
        for t, h in blocks:
            part = slice(t, t + step), slice(h, h + rows)
            used = active[part[0]].to(segm_output.device)
            width = max(1, int(used.max()))
            o, m, s = (x[part][:, :, :width].flatten(0, 1) for x in (segm_output, segm_max, segm_expsum))
            count = o.shape[0] // used.shape[0]
            cascade.block(o, m, s, used.repeat_interleave(count), t * heads + h)
            if progress is not None:
                progress(min(tokens, t + step) * heads, tokens * heads)
    cascade.settle()
    output = ExactValues(**{name: x.reshape(tokens, heads, rank) for name, x in vars(cascade.output).items()})
    lse = ExactValues(**{name: x.reshape(tokens, heads) for name, x in vars(cascade.lse).items()})
    return Exact(output=output, lse=lse, tiers=cascade.tiers, bits=cascade.bits)
