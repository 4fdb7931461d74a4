"""`python -m verify.museum`: the suite against its collection of faulty and of sound kernels."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from reports.serialize import write_text
from verify.bounds.float32 import Float32Bounds
from verify.campaign.plan import Plan, Shard
from verify.campaign.profiles import PROFILES
from verify.campaign.schedule import CORPUS
from verify.cli.config import Settings
from verify.cli.exits import CLEAN, FOUND, guarded, say
from verify.cli.options import BOUNDS, DEVICE, OUT, QUIET, SEED, WORKERS
from verify.cli.settings import bounds_of, device_of, devices_of, settings_of
from verify.cli.special import GATES
from verify.laws import LAWS
from verify.museum.gates.page import summary
from verify.museum.gates.page import to_markdown as gates_page
from verify.museum.gates.run import complaints_of
from verify.museum.matrix import kill_matrix, missing
from verify.museum.registry import EXHIBITS, SOUND
from verify.museum.score import lost_without, score, to_markdown
from verify.subjects.convention import SEGMENTS

OPTIONS = (SEED, BOUNDS, DEVICE, WORKERS, OUT, GATES, QUIET)
_FLOAT32 = 0.9  # of the faults: several are no faults by bounds for float32, such as adding in it
_HANG_S = 5.0  # no exhibit but those that hang takes so long for a case of the smoke profile


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when all faults are noticed, no sound kernel rejected."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("museum", __doc__ or "", OPTIONS, argv)
    plan = _plan(settings)
    triton = importlib.util.find_spec("triton") is not None
    pieces = {**EXHIBITS, **SOUND}
    lacking = {name: missing(piece, plan.device, triton=triton) for name, piece in pieces.items()}
    not_run = {name: lack for name, lack in lacking.items() if lack}
    begun = time.perf_counter()
    matrix = kill_matrix({name: piece for name, piece in pieces.items() if name not in not_run}, plan)
    result = score(pieces, matrix)
    page = to_markdown(pieces, matrix, not_run)
    write_text(Path(settings["out"]) / "museum.md", page)
    if not settings["quiet"]:
        say(page)
    if settings["gates"]:
        complaints = complaints_of({name: pieces[name] for name in matrix}, plan.devices)
        page = gates_page(pieces, complaints, result)
        write_text(Path(settings["out"]) / "gates.md", page)
        if not settings["quiet"]:
            say(page)
        say(summary(pieces, complaints))
    for name in result.alive:
        spoke = f", though {', '.join(matrix[name].first)} spoke" if matrix[name].first else ""
        say(f"ALIVE {name}{spoke}: {pieces[name].sentence}")
    untested = [detector for detector, faults in lost_without(pieces, matrix).items() if not faults]
    for detector in untested:
        say(f"UNTESTED {detector}: no fault that it alone is there for was noticed by it")
    for name in result.false_alarms:
        say(f"FALSE ALARM {name}: {', '.join(f'{d} in {case}' for d, case in matrix[name].first.items())}")
    share = _FLOAT32 if isinstance(plan.bounds, Float32Bounds) else 1.0
    clean = result.passes(share) and not untested
    say(
        f"{'PASS' if clean else 'FAIL'} museum faults {len(result.killed)} of "
        f"{len(result.killed) + len(result.alive)} noticed, sound kernels {len(result.accepted)} of "
        f"{len(result.accepted) + len(result.false_alarms)} accepted, not run {len(not_run)}, "
        f"bounds {plan.bounds.name}, seed {plan.seed}, {time.perf_counter() - begun:.0f} s"
    )
    return CLEAN if clean else FOUND


def _plan(settings: Settings) -> Plan:
    device = device_of(settings)
    return Plan(
        kernel="",
        profile_name="smoke",
        profile=PROFILES["smoke"],
        budget_s=None,
        max_cases=None,
        seed=settings["seed"],
        families=(CORPUS, *DRAWN),
        dtypes=tuple(FORMATS),
        laws=tuple(LAWS),
        shard=Shard(),
        device=device,
        devices=devices_of(settings, device),
        isolated=True,
        timeout_s=_HANG_S,
        stop_at_first=False,
        out=Path(settings["out"]),
        resume=False,
        bounds=bounds_of(settings),
        convention=SEGMENTS.name,
        argv=(),
        arguments=(),
        config={},
    )


if __name__ == "__main__":
    sys.exit(main())
