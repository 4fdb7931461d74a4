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
from verify.config import UsageError
from verify.exits import CLEAN, FOUND, guarded, say
from verify.options import AT, DEVICE, KERNEL, TIMEOUT, device_of, settings_of
from verify.parsers import is_number

OPTIONS = (KERNEL, AT, DEVICE, TIMEOUT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when the case passes, 1 when it fails."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    settings = settings_of("replay", __doc__ or "", OPTIONS, argv, positional="case")
    name, kernel = settings["case"], settings["kernel"]
    source = _input(name)
    case = expand(source) if isinstance(source, Recipe) else source
    at = _place_in(case, settings["at"])
    worker = WorkerSettings(kernel=kernel, device=device_of(settings), bounds=load_bounds(), threads=1)
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
    if slash and is_number(seed) and is_number(number):
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
