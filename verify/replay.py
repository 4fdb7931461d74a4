"""`python -m verify.replay CASE`: run one case again and show what was right, what came, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.case import MergeCase
from fuzz.corpus import load_corpus
from fuzz.draw import draw_recipe
from fuzz.files import load_case
from fuzz.recipe import Recipe, expand
from verify.campaign.explain import explain_case, explain_fault, explain_value
from verify.campaign.inline import Inline
from verify.campaign.jobs import Job, Stream, seed_of
from verify.campaign.journal import NAME as JOURNAL
from verify.campaign.journal import JournalError, find_recipe
from verify.campaign.pool import Pool
from verify.campaign.profiles import PROFILES
from verify.campaign.station import StationSettings
from verify.config import Settings, UsageError
from verify.exits import CLEAN, FOUND, NOTHING_JUDGED, guarded, say
from verify.options import (
    AT,
    BOUNDS,
    DEVICE,
    ISOLATE,
    KERNEL,
    LAW,
    LAW_SEED,
    OUT,
    TIMEOUT,
    bounds_of,
    device_of,
    settings_of,
)
from verify.parsers import is_number

OPTIONS = (KERNEL, BOUNDS, AT, LAW, LAW_SEED, DEVICE, ISOLATE, TIMEOUT, OUT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when the case passes, 1 when it fails."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    settings = settings_of("replay", __doc__ or "", OPTIONS, argv, positional="case")
    name, kernel = settings["case"], settings["kernel"]
    source = _input(name, settings)
    case = expand(source) if isinstance(source, Recipe) else source
    at = _place_in(case, settings["at"])
    seed = seed_of(name) if settings["law-seed"] is None else settings["law-seed"]
    with _kernel(settings) as pool:
        outcome = pool.run_one(Job(name=name, input=source, laws=settings["laws"], seed=seed))
    lines = explain_case(case)
    for fault in outcome.faults:
        lines += explain_fault(case, fault)
    if at is not None:
        lines += ["", f"at    {settings['at']}", *explain_value(case, *at)]
    if outcome.unsupported:
        lines += ["", f"the kernel was not called: {outcome.unsupported}"]
    say("\n".join(lines))
    verdict = "FAIL" if outcome.faults else "UNSUPPORTED" if outcome.unsupported else "PASS"
    laws = sum(rows > 0 for rows in outcome.laws.values())
    say(f"{verdict} {kernel} case {name} outputs {outcome.outputs} laws {laws}")
    return {"FAIL": FOUND, "PASS": CLEAN, "UNSUPPORTED": NOTHING_JUDGED}[verdict]


def _kernel(settings: Settings) -> Pool | Inline:
    station = StationSettings(
        kernel=settings["kernel"], device=device_of(settings), bounds=bounds_of(settings), cores=1
    )
    return (
        Pool([station], settings["timeout"] or PROFILES["quick"].timeout_s)
        if settings["isolate"] == "on"
        else Inline(station)
    )


def _input(name: str, settings: Settings) -> Recipe | MergeCase:
    seed, slash, number = name.partition("/")
    if slash and is_number(seed) and is_number(number):
        return draw_recipe(int(seed), int(number))
    if slash and seed == Stream.HUNT:
        return _hunted(name, settings["out"] / JOURNAL)
    if slash and seed == Stream.CORPUS:
        return _of_corpus(number)
    try:
        return load_case(Path(name))
    except ValueError as error:
        raise UsageError(f"{error}; wanted SEED/NUMBER, a case's name or a case file of a report") from None


def _hunted(name: str, journal: Path) -> Recipe:
    try:
        recipe = find_recipe(journal, name)
    except (JournalError, ValueError) as error:
        raise UsageError(f"{name}: {error}; name the run's folder with --out") from None
    if recipe is None:
        raise UsageError(f"{name}: {journal} holds no such case; name the run's folder with --out")
    return recipe


def _of_corpus(stem: str) -> MergeCase:
    found = dict(load_corpus()).get(stem)
    if not isinstance(found, MergeCase):
        raise UsageError(f"corpus/{stem}: {found or 'the corpus has no such case'}")
    return found


def _place_in(case: MergeCase, at: tuple[int, ...] | None) -> tuple[int, ...] | None:
    shape = (case.T, case.H, case.R)
    if at is not None and any(index >= size for index, size in zip(at, shape, strict=False)):
        raise UsageError(f"--at {at}: the case has T={case.T}, H={case.H}, R={case.R}")
    return at


if __name__ == "__main__":
    sys.exit(main())
