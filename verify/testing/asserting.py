"""Judge one call of a merge in a test: AssertionError with all there is to know, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
from torch import Tensor

from fuzz.case import Domain, MergeCase
from verify.bounds import load_bounds
from verify.campaign.interrupts import one_interrupt
from verify.campaign.jobs import Job
from verify.campaign.trial import Bench
from verify.laws import LAWS
from verify.observed import Fault
from verify.replay.account import account_of_case, account_of_fault
from verify.replay.storing import replay_command, store
from verify.subjects.convention import SEGMENTS, Convention
from verify.subjects.load import Subject, load_subject
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import recast
from verify.testing.here import mode_note, visiting
from verify.testing.naming import lent, name_of

Kernel = Callable[..., Any] | str
"""A merge, or its name as `--kernel` takes it."""

Pair = tuple[Tensor, Tensor]
"""What a merge returned: output and lse."""

_SHOWN = 3
_ARGUMENTS = ("segm_output", "segm_max", "segm_expsum", "seq_lens", "tile_size", "out_dtype")


def assert_merge(
    merge: Kernel | Pair,
    *inputs: Any,
    bounds: str | Path = "default",
    laws: Sequence[str] = (),
    law_seed: int = 0,
    convention: str = SEGMENTS.name,
    keep: str | Path | None = "out/asserted",
) -> None:
    """Judge one merge: a kernel, called here and guarded, or the pair (output, lse) that a call returned.

    `inputs` are the kernel's arguments, or one MergeCase; of a pair's, out_dtype may be left out. `laws` are
    checked on a kernel, as the seed chooses; a pair is judged by its values. Raises AssertionError for any
    fault, with values, bound, segments and the command that replays the case, which is stored in the folder
    `keep` (None stores nothing). ValueError, one line, where the arguments are not those of a merge.

    A case that a kernel does not declare to support is rejected in a Hypothesis test; elsewhere it is an
    AssertionError, since nothing was judged.
    """
    chosen = load_bounds(bounds)
    form = _form(convention, merge)
    _check_laws(laws, of_pair=isinstance(merge, tuple))
    case = recast(_case(inputs, merge), form)
    job = Job(name="asserted", input=case, laws=tuple(laws), seed=law_seed)
    device = case.segm_output.device.type
    note = "" if isinstance(merge, tuple) else mode_note(device)
    with visiting(device) as flushing, one_interrupt(), _subject(merge, form) as subject:
        outcome = Bench(subject, chosen, flushing=flushing).run(job, case)
        told = _told(subject.name, case, outcome.faults, form) if outcome.faults else []
    if outcome.unsupported:
        if hypothesis.currently_in_test_context():
            hypothesis.reject()
        raise AssertionError(f"nothing was judged: {subject.name} declares {outcome.unsupported}")
    if not told:
        return
    if keep is not None:
        command = replay_command(
            store(case, outcome.faults[0], Path(keep)),
            _replayable(merge),
            laws=laws,
            law_seed=law_seed,
            bounds=str(bounds),
            device=device,
            convention=convention,
        )
        told += ["", f"replay {command}"]
    raise AssertionError("\n".join((*told, *([f"note: {note}"] if note else []))))


def _told(name: str, case: MergeCase, faults: Sequence[Fault], form: Convention) -> list[str]:
    lines = [f"{len(faults)} fault{'s' if len(faults) > 1 else ''} of {name}", *account_of_case(case)]
    for fault in faults[:_SHOWN]:
        lines += account_of_fault(case, fault, form)
    if len(faults) > _SHOWN:
        lines += ["", f"and {', '.join(fault.kind.value for fault in faults[_SHOWN:])}"]
    return lines


def _form(convention: str, merge: Kernel | Pair) -> Convention:
    if convention not in CONVENTIONS:
        raise ValueError(f"convention: there is no {convention!r} among {', '.join(CONVENTIONS)}")
    if isinstance(merge, tuple) and convention != SEGMENTS.name:
        raise ValueError(
            f"convention: what a call returned is judged as {SEGMENTS.name}; hand the kernel over"
        )
    return CONVENTIONS[convention]


def _check_laws(laws: Sequence[str], *, of_pair: bool) -> None:
    for law in laws:
        if law not in LAWS:
            raise ValueError(f"laws: there is no {law!r} among {', '.join(LAWS)}")
        if of_pair:
            raise ValueError(
                f"laws: {law} calls the kernel again; hand the kernel over, not what it returned"
            )


def _case(inputs: tuple[Any, ...], merge: Kernel | Pair) -> MergeCase:
    if len(inputs) == 1 and isinstance(inputs[0], MergeCase):
        return inputs[0]
    if len(inputs) == len(_ARGUMENTS) - 1 and isinstance(merge, tuple):
        inputs = (*inputs, getattr(merge[0], "dtype", None))
    if len(inputs) != len(_ARGUMENTS):
        raise ValueError(
            f"{len(inputs)} arguments after the merge, wanted a MergeCase or {', '.join(_ARGUMENTS)}"
        )
    for name, value in zip(_ARGUMENTS[:4], inputs[:4], strict=True):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name} is {type(value).__name__}, wanted a tensor")
    o, m, s, seq_lens, tile_size, dtype = inputs
    return MergeCase(
        segm_output=o.detach(),
        segm_max=m.detach(),
        segm_expsum=s.detach(),
        seq_lens=seq_lens,
        tile_size=tile_size,
        out_dtype=str(dtype).removeprefix("torch."),
        domain=Domain.STRESS,  # nobody says who made these numbers
    )


@contextmanager
def _subject(merge: Kernel | Pair, form: Convention) -> Iterator[Subject]:
    """Give what is judged; a pair is judged as a kernel that returns it whatever it is given."""
    if isinstance(merge, tuple):
        yield Subject(name="the results", import_path="", source_sha256="", merge=lambda *_: merge)
    elif isinstance(merge, str):
        yield load_subject(merge, form)
    else:
        with lent(merge) as name:
            yield load_subject(name, form)


def _replayable(merge: Kernel | Pair) -> str:
    name = merge if isinstance(merge, str) else None if isinstance(merge, tuple) else name_of(merge)
    return name or "MODULE:FUNCTION"
