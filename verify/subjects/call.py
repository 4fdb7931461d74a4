"""Call a kernel on a case and note what it did besides computing."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from verify.observed import Fault, FaultKind, Returned
from verify.subjects.adapter import inputs_of, lse_of, output_of, shapes_of, unmarked
from verify.subjects.convention import Convention
from verify.subjects.copies import copies_of, is_unchanged
from verify.subjects.guard import GuardedAllocations, is_marker, is_second, is_telling
from verify.subjects.load import Subject


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

    The case is one that the kernel's convention can say: see recast.py. With `into` it is handed its
    outputs, which are strided, with gaps that it must leave alone.
    """
    given = inputs_of(case, subject.convention)
    # What is judged later is the case itself, which a kernel that writes to its inputs must not reach.
    inputs = copies_of(given)
    guard = GuardedAllocations()
    try:
        returned = _run(subject, case, inputs, guard, into=into)
    except BaseException as error:  # whatever a kernel raises on a legal case is a finding
        if isinstance(error, Interrupted):
            raise
        return Call(returned=None, faults=(_raised(error),))
    faults = []
    changed = [
        name.rstrip("=")
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor) and not is_unchanged(value, given[name])
    ]
    if changed:
        message = f"{' and '.join(changed)} changed during the call"
        faults.append(Fault(kind=FaultKind.TOUCHED_INPUT, detector="input copy", message=message))
    if guard.touched():
        message = "memory before, after or between the rows of an allocation was written"
        faults.append(Fault(kind=FaultKind.TOUCHED_PADDING, detector="guard band", message=message))
    complaint = _signature_complaint(returned, subject, case)
    if complaint:
        fault = Fault(kind=FaultKind.WRONG_SHAPE_OR_DTYPE, detector="signature", message=complaint)
        return Call(returned=None, faults=(*faults, fault))
    return Call(returned=_results(returned, subject, case, into=into), faults=tuple(faults))


def _results(returned: dict[str, torch.Tensor], subject: Subject, case: MergeCase, *, into: bool) -> Returned:
    """Return the results in the form of the contract; an lse that the kernel does not give is NaN."""
    convention = subject.convention
    # Copied: a kernel may hand out the same memory at its next call, as those that replay a graph do.
    output = output_of(returned["output"].detach(), convention).clone()
    unwritten = is_marker(output)
    if "lse" in returned:
        lse = lse_of(returned["lse"].detach(), convention).clone()
        unwritten_lse = is_marker(lse)
    else:
        lse = torch.full((case.T, case.H), torch.nan, device=output.device)
        unwritten_lse = torch.zeros_like(lse, dtype=torch.bool)
    marked = bool(unwritten.any()) or bool(unwritten_lse.any())
    if marked and not (is_telling(output.dtype) and not _holds_nan(case)):
        again, again_lse = _left_again(subject, case, into=into)
        unwritten, unwritten_lse = unwritten & again, unwritten_lse & again_lse
    output, lse = unmarked(case, output, lse, convention)
    return Returned(output=output, lse=lse, unwritten_output=unwritten, unwritten_lse=unwritten_lse)


def run_subject(subject: Subject, case: MergeCase, watch: AbstractContextManager[Any]) -> None:
    """Run the kernel once, on the case itself, under `watch`; what it raises is raised, nothing is judged."""
    _run(subject, case, inputs_of(case, subject.convention), watch)


def _run(
    subject: Subject,
    case: MergeCase,
    inputs: dict[str, Any],
    guard: AbstractContextManager[Any],
    *,
    into: bool = False,
) -> Any:
    """Return the results by name, or whatever else came back."""
    convention, dtype = subject.convention, FORMATS[case.out_dtype].torch_dtype
    with _defaults_kept(), torch.no_grad(), guard:
        handed = _outputs(case, dtype) if into else {}
        if convention.fills:
            handed = _fresh(case, convention, dtype)
            inputs = {name: inputs.get(name, handed.get(of)) for name, of in convention.parameters.items()}
        values = [value for name, value in inputs.items() if not name.endswith("=")]
        named = {name[:-1]: value for name, value in inputs.items() if name.endswith("=")}
        returned = subject.merge(*values, **named, **(handed if into else {}))
        returned = handed or _named(returned, convention)
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


def _fresh(case: MergeCase, convention: Convention, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Allocate the results that a kernel of this convention fills."""
    dtypes = {"output": dtype, "lse": torch.float32}
    return {
        name: torch.empty(shape, dtype=dtypes[name], device=case.segm_output.device)
        for name, shape in shapes_of(case, convention).items()
    }


def _named(returned: Any, convention: Convention) -> Any:
    """Return the results of a kernel by their names, or what it returned in their place."""
    if convention.lse_base is None:
        return {"output": returned} if isinstance(returned, torch.Tensor) else returned
    pair = isinstance(returned, tuple | list) and len(returned) == 2
    return dict(zip(("output", "lse"), returned, strict=True)) if pair else returned


def _outputs(case: MergeCase, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Allocate what a kernel may be handed: rows apart from one another, and tokens too."""
    row, device = case.R + 5, case.segm_output.device
    shape, strides = (case.T, case.H, case.R), (case.H * row + 7, row, 1)
    return {
        "output": torch.empty_strided(shape, strides, dtype=dtype, device=device),
        "lse": torch.empty_strided(shape[:2], (case.H + 3, 1), dtype=torch.float32, device=device),
    }


def _holds_nan(case: MergeCase) -> bool:
    """Tell whether a kernel could hand a marker on that it was given: NaNs keep their payload."""
    return any(bool(x.isnan().any()) for x in (case.segm_output, case.segm_max, case.segm_expsum))


def _left_again(subject: Subject, case: MergeCase, *, into: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the masks of outputs and lses that show the other filling when the kernel is called again."""
    nowhere = torch.zeros(case.T, case.H, dtype=torch.bool, device=case.segm_output.device)
    try:
        inputs, convention = copies_of(inputs_of(case, subject.convention)), subject.convention
        returned = _run(subject, case, inputs, GuardedAllocations(second=True), into=into)
        lse = lse_of(is_second(returned["lse"]), convention) if "lse" in returned else nowhere
        return output_of(is_second(returned["output"]), convention), lse
    except Exception:  # the first call did not raise: what this one does is for another case to show
        return nowhere[..., None].expand(-1, -1, case.R), nowhere


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


def _signature_complaint(returned: Any, subject: Subject, case: MergeCase) -> str:
    shapes = shapes_of(case, subject.convention)
    if not isinstance(returned, dict):
        wanted = "the pair (output, lse)" if "lse" in shapes else "the output alone"
        return f"returned {type(returned).__name__}, wanted {wanted}"
    dtypes = {"output": FORMATS[case.out_dtype].torch_dtype, "lse": torch.float32}
    device = case.segm_output.device
    complaints = (
        _complaint(name, returned[name], shape, dtypes[name], device) for name, shape in shapes.items()
    )
    return next(filter(None, complaints), "")


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
