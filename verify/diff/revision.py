"""A kernel as it was at a revision: its files in a folder, and the command that runs them there."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from verify.cli.config import UsageError
from verify.subjects.load import NAMED

_ROOT = Path(__file__).resolve().parents[2]
_SUITE = ("verify", "fuzz", "reports")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a kernel stands in the repository that holds it."""

    repository: Path
    """Top of the working tree."""
    file: Path
    """The file that defines the kernel or its package, relative to that."""
    search: Path | None
    """The folder in which its package is found, likewise; None for a kernel named by its file."""
    function: str
    """Name of the function."""
    module: str
    """Name of the module; empty for a kernel named by its file."""


def place_of(spec: str) -> Place:
    """Find the repository of the kernel that `--kernel` names, without importing it; UsageError for none."""
    path = NAMED.get(spec, spec)
    place, _, function = path.rpartition(":")
    if not place:
        raise UsageError(f"--kernel {spec!r}: wanted pkg.mod:function or path/file.py:function")
    if place.endswith(".py"):
        file, package = Path(place).resolve(), None
    else:
        file = _file_of(place.partition(".")[0], spec)
        package = file.parent.parent if file.name == "__init__.py" else file.parent
    if not file.is_file():
        raise UsageError(f"--kernel {spec!r}: no file {file}")
    top = _git(file.parent, "rev-parse", "--show-toplevel")
    if top is None:
        raise UsageError(
            f"--kernel {spec!r}: {file} is in no git repository, so there are no revisions of it"
        )
    repository = Path(top).resolve()
    return Place(
        repository=repository,
        file=file.relative_to(repository),
        search=package.relative_to(repository) if package is not None else None,
        function=function,
        module="" if package is None else place,
    )


def commit_of(place: Place, revision: str) -> str | None:
    """Return the commit that a revision names; None where it names none."""
    if revision.startswith("-"):
        return None
    return _git(place.repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A kernel at one commit."""

    place: Place
    """Where it stands."""
    commit: str
    """The commit, in full."""


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The files of one revision in a folder of their own."""

    kernel: str
    """The kernel as `--kernel` takes it there."""
    search: tuple[Path, ...]
    """The folders in which a process finds it, and this suite, before any other."""


def check_out(revision: Revision, folder: Path) -> Checkout:
    """Write the tree of a commit to a new folder; UsageError where it does not hold the kernel's file.

    Both sides of a comparison are to be judged alike: where the commit holds this suite, the present one is
    put in its place.
    """
    place, commit = revision.place, revision.commit
    folder.mkdir(parents=True)
    archive = folder.with_name(f"{folder.name}.tar")
    if _git(place.repository, "archive", "--format=tar", f"--output={archive}", commit) is None:
        raise UsageError(f"git cannot write the tree of {commit[:12]}; is the clone a partial one?")
    with tarfile.open(archive) as tree:
        tree.extractall(folder, filter="data")
    archive.unlink()
    if not (folder / place.file).is_file():
        raise UsageError(f"{commit[:12]} holds no {place.file}: the kernel is not there at that revision")
    suite = _ROOT
    if _ROOT.is_relative_to(place.repository):
        suite = folder / _ROOT.relative_to(place.repository)
        for package in _SUITE:
            shutil.rmtree(suite / package, ignore_errors=True)
            shutil.copytree(_ROOT / package, suite / package, ignore=shutil.ignore_patterns("__pycache__"))
    where = place.module or str(folder / place.file)
    packages = () if place.search is None else (folder / place.search,)
    return Checkout(kernel=f"{where}:{place.function}", search=tuple(dict.fromkeys((*packages, suite))))


def _file_of(package: str, spec: str) -> Path:
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        raise UsageError(f"--kernel {spec!r}: there is no package or module {package} to be found here")
    return Path(found.origin).resolve()


def _git(folder: Path, *words: str) -> str | None:
    """Return what git says, None where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired):
        raise UsageError("git is needed to compare revisions, and cannot be run") from None
    return done.stdout.strip() if done.returncode == 0 else None
