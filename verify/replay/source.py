"""The case that a name means: of the drawn stream, of a run's hunt, of the corpus, or a file."""

from __future__ import annotations

from pathlib import Path

from fuzz.case import MergeCase
from fuzz.corpus import load_corpus
from fuzz.draw import draw_recipe
from fuzz.files import load_case
from fuzz.recipe import Recipe
from verify.campaign.jobs import Stream
from verify.campaign.journal import NAME as JOURNAL
from verify.campaign.journal import JournalError, find_recipe
from verify.cli.config import UsageError
from verify.cli.parsers import is_number


def case_named(name: str, folder: Path) -> Recipe | MergeCase:
    """Return what a name means, a hunted case by the journal in `folder`; UsageError where it means none."""
    seed, slash, number = name.partition("/")
    if slash and is_number(seed) and is_number(number):
        return draw_recipe(int(seed), int(number))
    if slash and seed == Stream.HUNT:
        return _hunted(name, folder / JOURNAL)
    if slash and seed == Stream.CORPUS:
        return _of_corpus(number)
    try:
        return load_case(_kept(name, folder) or Path(name))
    except ValueError as error:
        raise UsageError(
            f"{error}; wanted SEED/NUMBER, a case's name, a file, or a finding's id in --out"
        ) from None


def _kept(name: str, folder: Path) -> Path | None:
    """Return the file of a finding that is named by its id, where the run in `folder` kept one."""
    file = folder / "findings" / f"{name}.safetensors"
    return file if Path(name).name == name and file.is_file() else None


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
