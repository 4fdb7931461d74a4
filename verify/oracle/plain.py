"""The plain oracle over whole tensors: a loop over rows, the reference of the faster tiers."""

import torch

from verify.oracle.situations import merge_row
from verify.oracle.target import Base, TargetFormat, Value
from verify.oracle.values import Exact, check_inputs, from_records


def evaluate_plainly(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    active: torch.Tensor,
    output_format: TargetFormat,
    lse_format: TargetFormat,
    *,
    base: Base = Base.TWO,
    lse_base: Base = Base.E,
) -> Exact:
    """Return what `evaluate` returns, by integers and mpmath alone, one output after the other."""
    check_inputs(segm_output, segm_max, segm_expsum, active)
    base, lse_base = Base(base), Base(lse_base)  # a value that is no base must not be taken for one
    tokens, heads, _, rank = segm_output.shape
    output: list[Value] = []
    lse: list[Value] = []
    bits = 0
    for t, used in enumerate(active.tolist()):
        maxima, sums = segm_max[t, :, :used].tolist(), segm_expsum[t, :, :used].tolist()
        columns = segm_output[t, :, :used].transpose(1, 2).tolist()  # [H, R, active]
        for h in range(heads):
            row = merge_row(maxima[h], sums[h], columns[h], output_format, lse_format, base, lse_base)
            output += row.output
            lse.append(row.lse)
            bits = max(bits, row.bits)
    return Exact(
        output=from_records(output, (tokens, heads, rank)),
        lse=from_records(lse, (tokens, heads)),
        tiers={"exact": len(output) + len(lse)},
        bits=bits,
    )
