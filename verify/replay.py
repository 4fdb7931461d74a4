"""`python -m verify.replay CASE`: run one case again and show what was right, what came, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.case import MergeCase
from fuzz.draw import draw_recipe
from fuzz.files import load_case
from fuzz.recipe import Recipe, expand
from verify.bounds import load_bounds
from verify.campaign.explain import explain_case, explain_fault, explain_value
from verify.campaign.pool import Pool
from verify.campaign.worker import Job, WorkerSettings
from verify.config import Option, UsageError, one_of, read_settings, seconds
from verify.exits import CLEAN, FOUND, guarded, say
from verify.subjects.load import NAMED


def coordinates(text: str) -> tuple[int, ...]:
    """Parse TOKEN,HEAD or TOKEN,HEAD,COLUMN."""
    parts = text.split(",")
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is not a place: wanted e.g. 0,3 for an lse or 0,3,17 for an output")
    return tuple(int(part) for part in parts)


OPTIONS = (
    Option(
        name="kernel",
        parse=str,
        default="mla_merge",
        metavar="KERNEL",
        help=f"kernel under test: {', '.join(NAMED)}, pkg.mod:function or path/file.py:function",
    ),
    Option(
        name="at",
        parse=coordinates,
        default=None,
        metavar="TOKEN,HEAD[,COLUMN]",
        help="explain this output too, or this lse, with the enclosure that proves it",
    ),
    Option(name="device", parse=one_of(("cpu", "cuda")), default="cpu", help="where the kernel runs"),
    Option(name="timeout", parse=seconds, default=120.0, metavar="S", help="time the case may take"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when the case passes, 1 when it fails."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    settings = read_settings("verify.replay", __doc__ or "", OPTIONS, argv, positional="case")
    name, kernel = settings["case"], settings["kernel"]
    source = _input(name)
    case = expand(source) if isinstance(source, Recipe) else source
    at = _place_in(case, settings["at"])
    worker = WorkerSettings(kernel=kernel, device=settings["device"], bounds=load_bounds(), threads=1)
    with Pool(worker, 1, settings["timeout"]) as pool:
        outcome = pool.run_one(Job(name=name, input=source))
    lines = explain_case(case)
    for fault in outcome.faults:
        lines += explain_fault(case, fault)
    if at is not None:
        lines += ["", f"at    {settings['at']}", *explain_value(case, *at)]
    say("\n".join(lines))
    say(f"{'FAIL' if outcome.faults else 'PASS'} {kernel} case {name} outputs {outcome.outputs}")
    return FOUND if outcome.faults else CLEAN


def _input(name: str) -> Recipe | MergeCase:
    seed, slash, number = name.partition("/")
    if slash and seed.isdigit() and number.isdigit():
        return draw_recipe(int(seed), int(number))
    try:
        return load_case(Path(name))
    except ValueError as error:
        raise UsageError(f"{error}; wanted SEED/NUMBER or a case file of a report") from None


def _place_in(case: MergeCase, at: tuple[int, ...] | None) -> tuple[int, ...] | None:
    shape = (case.T, case.H, case.R)
    if at is not None and any(index >= size for index, size in zip(at, shape, strict=False)):
        raise UsageError(f"--at {at}: the case has T={case.T}, H={case.H}, R={case.R}")
    return at


if __name__ == "__main__":
    sys.exit(main())
