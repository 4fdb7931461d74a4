"""Call a kernel on a case and note what it did besides computing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.observed import Fault, FaultKind, Returned
from verify.subjects.guard import GuardedAllocations, is_marker
from verify.subjects.load import Subject


@dataclass(frozen=True, kw_only=True)
class Call:
    """What came back from one call."""

    returned: Returned | None
    """The results; None when nothing that could be judged came back."""
    faults: tuple[Fault, ...]
    """Faults that need no oracle."""


def call_subject(subject: Subject, case: MergeCase) -> Call:
    """Run the kernel once on the case, inputs strided as the case has them."""
    inputs = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
    before = [_storage_bytes(tensor).clone() for tensor in inputs]
    guard = GuardedAllocations()
    try:
        with torch.no_grad(), guard:
            returned = subject.merge(*inputs, case.tile_size, FORMATS[case.out_dtype].torch_dtype)
        if case.segm_output.is_cuda:
            torch.cuda.synchronize(case.segm_output.device)
    except Exception as error:  # whatever a kernel raises on a legal case is a finding
        return Call(returned=None, faults=(_raised(error),))
    faults = []
    if any(not torch.equal(_storage_bytes(now), then) for now, then in zip(inputs, before, strict=True)):
        message = "an input was changed by the call"
        faults.append(Fault(kind=FaultKind.TOUCHED_INPUT, detector="input copy", message=message))
    if guard.touched():
        message = "memory before or after an allocation of the kernel was written"
        faults.append(Fault(kind=FaultKind.TOUCHED_PADDING, detector="guard band", message=message))
    complaint = _signature_complaint(returned, case)
    if complaint:
        fault = Fault(kind=FaultKind.WRONG_SHAPE_OR_DTYPE, detector="signature", message=complaint)
        return Call(returned=None, faults=(*faults, fault))
    output, lse = (tensor.detach() for tensor in returned)
    values = Returned(
        output=output, lse=lse, unwritten_output=is_marker(output), unwritten_lse=is_marker(lse)
    )
    return Call(returned=values, faults=tuple(faults))


def _raised(error: Exception) -> Fault:
    text = " ".join(str(error).split())
    message = f"the call raised {type(error).__name__}: {text[:300]}"
    compiling = type(error).__module__.startswith("triton.compiler")
    kind = FaultKind.COMPILE_ERROR if compiling else FaultKind.CRASH
    return Fault(kind=kind, detector="isolation", message=message)


def _storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    # The whole storage, so that a write between the strides of an input shows as well.
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _signature_complaint(returned: Any, case: MergeCase) -> str:
    if not (isinstance(returned, tuple | list) and len(returned) == 2):
        return f"returned {type(returned).__name__}, wanted the pair (output, lse)"
    wanted = (
        ("output", (case.T, case.H, case.R), FORMATS[case.out_dtype].torch_dtype),
        ("lse", (case.T, case.H), torch.float32),
    )
    for (name, shape, dtype), tensor in zip(wanted, returned, strict=True):
        if not isinstance(tensor, torch.Tensor):
            return f"{name} is {type(tensor).__name__}, wanted a tensor"
        if tuple(tensor.shape) != shape:
            return f"{name} has shape {list(tensor.shape)}, wanted {list(shape)}"
        if tensor.dtype != dtype:
            return f"{name} has dtype {tensor.dtype}, wanted {dtype}"
        if tensor.device != case.segm_output.device:
            return f"{name} is on {tensor.device}, wanted {case.segm_output.device}"
    return ""
