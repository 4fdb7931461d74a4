"""Evaluate a whole merge exactly."""

import torch

from verify.oracle.situations import merge_row
from verify.oracle.target import TargetFormat, Value
from verify.oracle.values import Exact, from_records


def evaluate(
    segm_output: torch.Tensor,
    segm_max: torch.Tensor,
    segm_expsum: torch.Tensor,
    active: torch.Tensor,
    output_format: TargetFormat,
    lse_format: TargetFormat,
) -> Exact:
    """Return the exact results of a merge.

    segm_output [T, H, S, R], segm_max and segm_expsum [T, H, S], float32 with any strides; active [T], any
    integer dtype: the number of segments that each token's producer wrote. Raises ValueError where the
    shapes or dtypes differ from that.
    """
    check_inputs(segm_output, segm_max, segm_expsum, active)
    tokens, heads, _, rank = segm_output.shape
    output: list[Value] = []
    lse: list[Value] = []
    bits = 0
    for t, used in enumerate(active.tolist()):
        maxima, sums = segm_max[t, :, :used].tolist(), segm_expsum[t, :, :used].tolist()
        columns = segm_output[t, :, :used].transpose(1, 2).tolist()  # [H, R, active]
        for h in range(heads):
            row = merge_row(maxima[h], sums[h], columns[h], output_format, lse_format)
            output += row.output
            lse.append(row.lse)
            bits = max(bits, row.bits)
    return Exact(
        output=from_records(output, (tokens, heads, rank)),
        lse=from_records(lse, (tokens, heads)),
        tiers={"exact": len(output) + len(lse)},
        bits=bits,
    )


def check_inputs(
    segm_output: torch.Tensor, segm_max: torch.Tensor, segm_expsum: torch.Tensor, active: torch.Tensor
) -> None:
    """Raise ValueError unless the shapes and dtypes are those of a merge."""
    if segm_output.dim() != 4:
        raise ValueError(f"segm_output has shape {tuple(segm_output.shape)}, [T, H, S, R] is wanted")
    tokens, heads, segments, _ = segm_output.shape
    for name, tensor in (("segm_max", segm_max), ("segm_expsum", segm_expsum)):
        if tensor.shape != (tokens, heads, segments):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, {(tokens, heads, segments)} is wanted")
    for name, tensor in (("segm_output", segm_output), ("segm_max", segm_max), ("segm_expsum", segm_expsum)):
        if tensor.dtype != torch.float32:
            raise ValueError(f"{name} has dtype {tensor.dtype}, torch.float32 is wanted")
    if active.shape != (tokens,) or active.dtype.is_floating_point or active.dtype == torch.bool:
        raise ValueError(
            f"active has shape {tuple(active.shape)} and dtype {active.dtype}, "
            f"integers of shape {(tokens,)} are wanted"
        )
    if tokens and not 0 <= int(active.min()) <= int(active.max()) <= segments:
        raise ValueError(f"active holds a number outside of 0..{segments}")
