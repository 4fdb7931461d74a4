"""A tensor's strides influence no bit; a kernel that cannot take them says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fuzz.bits import Stream
from fuzz.case import MergeCase
from fuzz.layouts import LAYOUTS, laid_out
from verify.laws.batch import rows_of
from verify.laws.conditions import with_values
from verify.laws.demand import Place
from verify.laws.evidence import Evidence
from verify.laws.law import Called, Checked, Law, Trial
from verify.laws.unchanged import unchanged

_DENSE = tuple(name for name in LAYOUTS if not name.startswith("expanded") and name != "contiguous")
_REFUSALS = ("ValueError", "NotImplementedError", "RuntimeError", "AssertionError", "TypeError")


def _check(trial: Trial) -> Checked:
    evidence = Evidence("strides", trial)
    if trial.case.outputs == 0:
        return evidence.checked()
    trial = evidence.sensitive()
    for said, variant, place in _variants(trial, evidence.everywhere):
        returned = evidence.call(variant, said, may_fail=_refused)
        if returned is not None:
            # Every row of the variant is some row of the case: the same values, so the same bits.
            evidence.demand(returned, said, *unchanged(trial, place), place=place)
    return evidence.checked()


def _refused(called: Called) -> bool:
    """Tell whether the call ended in an error that names the strides as its reason."""
    return called.returned is None and all(
        fault.cause.startswith(_REFUSALS)
        and any(word in fault.message.lower() for word in ("stride", "contiguous"))
        for fault in called.faults
    )


def _variants(trial: Trial, here: Place) -> Iterator[tuple[str, MergeCase, Place]]:
    case, stream = trial.case, Stream(seed=trial.seed)
    yield "contiguous tensors", case.contiguous(), here
    mixed = tuple(stream.pick(f"strides {i}", _DENSE) for i in range(4))
    yield f"tensors laid out {', '.join(mixed)}", _laid(case, mixed), here
    # One head, or one token, for all of them by a stride of 0: whatever is there must have its results.
    if int(stream.below("strides expanded", 2, 1)):
        alike = Place(tokens=here.tokens, heads=here.heads[:1].expand(case.H))
        yield "the first head expanded", _laid(rows_of(case, alike), ("expanded_heads",) * 4), alike
    else:
        alike = Place(tokens=here.tokens[:1].expand(case.T), heads=here.heads)
        yield "the first token expanded", _laid(rows_of(case, alike), ("expanded_tokens",) * 4), alike


def _laid(case: MergeCase, names: tuple[str, ...]) -> MergeCase:
    """Give each tensor a layout of its own; layouts are built on the CPU, and moved as they are."""
    there, device = case.to("cpu"), case.segm_output.device
    o, m, s, lengths = (
        laid_out(name, tensor)[0]
        for name, tensor in zip(
            names, (there.segm_output, there.segm_max, there.segm_expsum, there.seq_lens), strict=True
        )
    )
    laid = with_values(there, o=o, m=m, s=s, lengths=lengths)
    return replace(laid, layout=names[0]).to(device)


LAW = Law(
    name="strides",
    promise="other strides give the bits of contiguous tensors, or are refused with an error that says so",
    check=_check,
)
