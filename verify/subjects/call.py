"""Call a kernel on a case and note what it did besides computing."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.observed import Fault, FaultKind, Returned
from verify.subjects.guard import GuardedAllocations, is_marker, is_second, is_telling
from verify.subjects.load import Subject

_INPUTS = ("segm_output", "segm_max", "segm_expsum", "seq_lens")


class Interrupted(KeyboardInterrupt):
    """Somebody typed Ctrl-C while a kernel ran in this process; one that a kernel raises is its own fault."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """What came back from one call."""

    returned: Returned | None
    """The results; None when nothing that could be judged came back."""
    faults: tuple[Fault, ...]
    """Faults that need no oracle."""


def call_subject(subject: Subject, case: MergeCase, *, into: bool = False) -> Call:
    """Run the kernel on a copy of the case, strided alike; twice where only that tells more.

    With `into` it is handed its outputs, which are strided, with gaps that it must leave alone.
    """
    # What is judged later is the case itself, which a kernel that writes to its inputs must not reach.
    inputs = _copies(case)
    guard = GuardedAllocations()
    try:
        returned = _run(subject, case, inputs, guard, into=into)
    except BaseException as error:  # whatever a kernel raises on a legal case is a finding
        if isinstance(error, Interrupted):
            raise
        return Call(returned=None, faults=(_raised(error),))
    faults = []
    changed = [name for name, tensor in inputs.items() if not _unchanged(tensor, getattr(case, name))]
    if changed:
        message = f"{' and '.join(changed)} changed during the call"
        faults.append(Fault(kind=FaultKind.TOUCHED_INPUT, detector="input copy", message=message))
    if guard.touched():
        message = "memory before, after or between the rows of an allocation was written"
        faults.append(Fault(kind=FaultKind.TOUCHED_PADDING, detector="guard band", message=message))
    complaint = _signature_complaint(returned, case)
    if complaint:
        fault = Fault(kind=FaultKind.WRONG_SHAPE_OR_DTYPE, detector="signature", message=complaint)
        return Call(returned=None, faults=(*faults, fault))
    # Copied: a kernel may hand out the same memory at its next call, as those that replay a graph do.
    output, lse = (tensor.detach().clone() for tensor in returned)
    unwritten = is_marker(output)
    if not is_telling(output.dtype) and bool(unwritten.any()):
        unwritten &= _left_again(subject, case)
    values = Returned(output=output, lse=lse, unwritten_output=unwritten, unwritten_lse=is_marker(lse))
    return Call(returned=values, faults=tuple(faults))


def _run(
    subject: Subject,
    case: MergeCase,
    inputs: dict[str, torch.Tensor],
    guard: GuardedAllocations,
    *,
    into: bool = False,
) -> Any:
    dtype = FORMATS[case.out_dtype].torch_dtype
    with _defaults_kept(), torch.no_grad(), guard:
        outputs = _outputs(case, dtype) if into else {}
        returned = subject.merge(*inputs.values(), case.tile_size, dtype, **outputs)
        if into:
            returned = tuple(outputs.values())
    if case.segm_output.is_cuda:
        torch.cuda.synchronize(case.segm_output.device)
    return returned


@contextmanager
def _defaults_kept() -> Iterator[None]:
    """Undo what a kernel does to torch's defaults: the oracle relies on them, and so does the next call."""
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None)


def _outputs(case: MergeCase, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Allocate what a kernel may be handed: rows apart from one another, and tokens too."""
    row, device = case.R + 5, case.segm_output.device
    shape, strides = (case.T, case.H, case.R), (case.H * row + 7, row, 1)
    return {
        "output": torch.empty_strided(shape, strides, dtype=dtype, device=device),
        "lse": torch.empty_strided(shape[:2], (case.H + 3, 1), dtype=torch.float32, device=device),
    }


def _left_again(subject: Subject, case: MergeCase) -> torch.Tensor:
    """Return the mask of outputs that show the other filling when the kernel is called again."""
    try:
        output = _run(subject, case, _copies(case), GuardedAllocations(second=True))[0]
        return is_second(output)
    except Exception:  # the first call did not raise: what this one does is for another case to show
        return torch.zeros(case.T, case.H, case.R, dtype=torch.bool, device=case.segm_output.device)


def _raised(error: BaseException) -> Fault:
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(an exception that cannot be written out)"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    compiling = type(error).__module__.startswith("triton.compiler")
    return Fault(
        kind=FaultKind.COMPILE_ERROR if compiling else FaultKind.CRASH,
        detector="isolation",
        message=f"the call raised {name}: {text[:300]}",
        cause=f"{name} at {place}",
    )


def _copies(case: MergeCase) -> dict[str, torch.Tensor]:
    """Copy whole storages, so that every tensor keeps its strides, its offset and what lies between."""
    copies = {}
    for name in _INPUTS:
        tensor = getattr(case, name)
        elements = tensor.untyped_storage().nbytes() // tensor.element_size()
        flat = torch.as_strided(tensor, (elements,), (1,), 0).clone()
        copies[name] = torch.as_strided(flat, tensor.size(), tensor.stride(), tensor.storage_offset())
    return copies


def _unchanged(now: torch.Tensor, then: torch.Tensor) -> bool:
    if (now.size(), now.stride()) != (then.size(), then.stride()):
        return False
    size = then.untyped_storage().nbytes() // then.element_size() * then.element_size()
    return torch.equal(_storage_bytes(now)[:size], _storage_bytes(then)[:size])


def _storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    # The whole storage, so that a write between the strides of an input shows as well.
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _signature_complaint(returned: Any, case: MergeCase) -> str:
    if not (isinstance(returned, tuple | list) and len(returned) == 2):
        return f"returned {type(returned).__name__}, wanted the pair (output, lse)"
    output, lse = returned
    dtype = FORMATS[case.out_dtype].torch_dtype
    device = case.segm_output.device
    return _complaint("output", output, (case.T, case.H, case.R), dtype, device) or _complaint(
        "lse", lse, (case.T, case.H), torch.float32, device
    )


def _complaint(
    name: str, value: Any, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> str:
    if not isinstance(value, torch.Tensor):
        return f"{name} is {type(value).__name__}, wanted a tensor"
    wanted = {
        "shape": (list(value.shape), list(shape)),
        "dtype": (value.dtype, dtype),
        "layout": (value.layout, torch.strided),
        "device": (value.device, device),
    }
    wrong = (
        f"{name} has {what} {came}, wanted {want}" for what, (came, want) in wanted.items() if came != want
    )
    return next(wrong, "")
