"""Refuse wrong arguments before any launch, saying which one, what came and what is wanted."""

import operator
from dataclasses import dataclass

import torch

from mla_merge.rounding import RULES

MAX_TILE = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The checked arguments of one merge."""

    o: torch.Tensor
    """[T, H, S, R] float32, the partials."""
    m: torch.Tensor
    """[T, H, S] float32, the maxima, base 2."""
    s: torch.Tensor
    """[T, H, S] float32, the exp-sums."""
    seq_lens: torch.Tensor
    """[T] int32 or int64, the keys each token sees."""
    tile_size: int
    """Tile of the producer, 1 to 2^31 − 1."""
    output: torch.Tensor
    """[T, H, R] in one of the seven output formats, R contiguous."""
    lse: torch.Tensor
    """[T, H] float32."""


def check(
    segm_output: object,
    segm_max: object,
    segm_expsum: object,
    seq_lens: object,
    tile_size: object,
    out_dtype: object,
    output: object = None,
    lse: object = None,
    *,
    interpreted: bool,
) -> Arguments:
    """Check the arguments of a merge, looking at no value on a device; allocate the results not given.

    Raises TypeError for an argument of the wrong kind and ValueError for one that does not fit, both
    naming the argument.
    """
    o = _tensor("segm_output", segm_output, 4, "[T, H, S, R]", (torch.float32,))
    m = _tensor("segm_max", segm_max, 3, "[T, H, S]", (torch.float32,))
    s = _tensor("segm_expsum", segm_expsum, 3, "[T, H, S]", (torch.float32,))
    lens = _tensor("seq_lens", seq_lens, 1, "[T]", (torch.int32, torch.int64))
    tokens, heads, segments, rank = o.shape
    if segments < 1 or rank < 1:
        raise ValueError(
            f"segm_output has shape {list(o.shape)}: S (segments) and R (rank) must be at least 1; "
            "only T and H may be 0"
        )
    _shape("segm_max", m, [tokens, heads, segments], o)
    _shape("segm_expsum", s, [tokens, heads, segments], o)
    _shape("seq_lens", lens, [tokens], o)
    for name, tensor in (("segm_max", m), ("segm_expsum", s), ("seq_lens", lens)):
        if tensor.device != o.device:
            raise ValueError(
                f"{name} is on {tensor.device} but segm_output is on {o.device}: "
                "move all four tensors to one device"
            )
    _device(o.device, interpreted)
    dtype = _out_dtype(out_dtype)
    return Arguments(
        o=o,
        m=m,
        s=s,
        seq_lens=lens,
        tile_size=_tile(tile_size),
        output=_result("output", output, [tokens, heads, rank], dtype, o),
        lse=_result("lse", lse, [tokens, heads], torch.float32, o),
    )


def _tensor(name: str, value: object, ndim: int, axes: str, dtypes: tuple[torch.dtype, ...]) -> torch.Tensor:
    """Check kind, layout, dtype and number of axes, and give the plain values that the memory holds."""
    wanted = " or ".join(str(dtype) for dtype in dtypes)
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} is {type(value).__name__}: pass a torch.Tensor {axes} of {wanted}")
    if value.layout != torch.strided:
        raise ValueError(
            f"{name} has layout {value.layout}: pass a strided tensor, for example {name}.to_dense()"
        )
    if value.dtype not in dtypes:
        raise TypeError(f"{name} has dtype {value.dtype}: {wanted} is wanted; convert it with .to()")
    if value.ndim != ndim:
        raise ValueError(f"{name} has shape {list(value.shape)}: {ndim} axes {axes} are wanted")
    # A lazily negated view holds the opposite of what it means; anything else is returned as it is.
    return value.detach().resolve_neg()


def _result(name: str, value: object, shape: list[int], dtype: torch.dtype, o: torch.Tensor) -> torch.Tensor:
    """Allocate a result, or check the tensor that the caller gave for it."""
    if value is None:
        return torch.empty(shape, dtype=dtype, device=o.device)
    axes = "[T, H, R]" if len(shape) == 3 else "[T, H]"
    result = _tensor(name, value, len(shape), axes, (dtype,))
    _shape(name, result, shape, o)
    if result.device != o.device:
        raise ValueError(f"{name} is on {result.device} but segm_output is on {o.device}")
    if value.is_neg():  # type: ignore[attr-defined]  # it is a tensor by now
        raise ValueError(f"{name} is a lazily negated view: pass memory that holds what it means")
    if len(shape) == 3 and shape[2] > 1 and result.stride(2) != 1:
        raise ValueError(f"{name} has strides {list(result.stride())}: R must be contiguous (stride 1)")
    extent = 0
    for stride, size in sorted(zip(result.stride(), shape, strict=True)):
        if size > 1 and stride <= extent:
            raise ValueError(
                f"{name} has strides {list(result.stride())}: its rows must lie one behind the other"
            )
        extent += (size - 1) * stride
    return result


def _shape(name: str, tensor: torch.Tensor, wanted: list[int], o: torch.Tensor) -> None:
    if list(tensor.shape) != wanted:
        raise ValueError(
            f"{name} has shape {list(tensor.shape)}: {wanted} is wanted beside segm_output of shape "
            f"{list(o.shape)} = [T, H, S, R]"
        )


def _device(device: torch.device, interpreted: bool) -> None:
    if device.type == "cuda" or (device.type == "cpu" and interpreted):
        return
    if device.type == "cpu":
        raise ValueError(
            "segm_output is on cpu, where only Triton's interpreter runs: set TRITON_INTERPRET=1 in the "
            "environment before triton is first imported, or move all four tensors to a GPU"
        )
    raise ValueError(
        f"segm_output is on {device}: a CUDA or ROCm device is wanted, or cpu with TRITON_INTERPRET=1"
    )


def _tile(value: object) -> int:
    # A tensor would answer operator.index too, by waiting for its device.
    if isinstance(value, bool | torch.Tensor):
        raise TypeError(f"tile_size is {type(value).__name__}: pass a plain int from 1 to 2^31 − 1")
    try:
        tile = operator.index(value)  # type: ignore[arg-type]  # the refusal is the point
    except TypeError:
        raise TypeError(f"tile_size is {type(value).__name__}: pass an int from 1 to 2^31 − 1") from None
    if not 1 <= tile <= MAX_TILE:
        raise ValueError(f"tile_size is {tile}: it must be from 1 to 2^31 − 1, and the producer's own")
    return tile


def _out_dtype(value: object) -> torch.dtype:
    if not isinstance(value, torch.dtype):
        raise TypeError(f"out_dtype is {value!r}: pass a torch.dtype, for example torch.bfloat16")
    if value not in RULES:
        wanted = ", ".join(str(dtype).removeprefix("torch.") for dtype in RULES)
        raise ValueError(f"out_dtype is {value}: one of {wanted} is wanted")
    return value
