"""`python -m verify.replay CASE`: run one case again and show what was right, what came, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from fuzz.case import MergeCase
from fuzz.draw import draw_recipe
from fuzz.files import load_case
from fuzz.recipe import Recipe, expand
from verify.bounds import load_bounds
from verify.campaign.findings import number_of, place
from verify.campaign.pool import Pool
from verify.campaign.trial import Outcome
from verify.campaign.worker import Job, WorkerSettings
from verify.config import Option, UsageError, one_of, read_settings, seconds
from verify.exits import CLEAN, FOUND, guarded, say
from verify.observed import Fault
from verify.subjects.load import NAMED

OPTIONS = (
    Option(
        name="kernel",
        parse=str,
        default="mla_merge",
        metavar="KERNEL",
        help=f"kernel under test: {', '.join(NAMED)}, pkg.mod:function or path/file.py:function",
    ),
    Option(name="device", parse=one_of(("cpu", "cuda")), default="cpu", help="where the kernel runs"),
    Option(name="timeout", parse=seconds, default=120.0, metavar="S", help="time the case may take"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when the case passes, 1 when it fails."""
    return guarded(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    settings = read_settings("verify.replay", __doc__ or "", OPTIONS, argv, positional="case")
    name = settings["case"]
    source = _input(name)
    worker = WorkerSettings(
        kernel=settings["kernel"], device=settings["device"], bounds=load_bounds(), threads=1
    )
    with Pool(worker, 1, settings["timeout"]) as pool:
        outcome = pool.run_one(Job(name=name, input=source))
    case = expand(source) if isinstance(source, Recipe) else source
    for line in describe(case, outcome):
        say(line)
    say(f"{'FAIL' if outcome.faults else 'PASS'} {settings['kernel']} case {name} outputs {outcome.outputs}")
    return FOUND if outcome.faults else CLEAN


def _input(name: str) -> Recipe | MergeCase:
    seed, slash, number = name.partition("/")
    if slash and seed.isdigit() and number.isdigit():
        return draw_recipe(int(seed), int(number))
    try:
        return load_case(Path(name))
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {error}; wanted SEED/NUMBER or a case file of a report") from None


def describe(case: MergeCase, outcome: Outcome) -> list[str]:
    """Return the case's shape and, for each fault, its place, its values and its segments."""
    lines = [
        f"case T={case.T} H={case.H} S={case.S} R={case.R} tile={case.tile_size} dtype={case.out_dtype} "
        f"layout={case.layout} domain={case.domain.value}"
    ]
    if case.recipe is not None:
        lines.append(f"recipe {case.recipe.to_json()}")
    for fault in outcome.faults:
        lines += ["", f"{fault.kind.value} noticed by {fault.detector}: {fault.message}"]
        if fault.where is not None:
            lines += _details(case, fault)
    return lines


def _details(case: MergeCase, fault: Fault) -> list[str]:
    where = place(fault) or {}
    lines = ["at    " + ", ".join(f"{name} {index}" for name, index in where.items())]
    for name, value in (("got", fault.got), ("exact", fault.exact)):
        number = number_of(value, fault, case)
        if number is not None:
            lines.append(f"{name:<5} {number.dec}  {number.hex}  {number.bits}".rstrip())
    if fault.ulp is not None:
        lines.append(f"error {fault.ulp:.6g} ulp, {fault.steps} steps, bound {fault.bound:.6g} ulp")
    return lines + segment_table(case, where["token"], where["head"], where.get("column"))


def segment_table(case: MergeCase, token: int, head: int, column: int | None) -> list[str]:
    """Return the active segments of a row: m, s, o, weight against the largest, share of the mass."""
    active = int(case.active[token])
    m = case.segm_max[token, head, :active].double()
    s = case.segm_expsum[token, head, :active].double()
    o = case.segm_output[token, head, :active, column or 0].double()
    live = (m != -torch.inf) & ~((s == 0) & ~m.isnan())
    top = m[live].max() if bool(live.any()) else torch.tensor(0.0)
    weight = torch.where(live, torch.exp2(m - top), 0.0)
    mass = torch.where(live, s * weight, 0.0)
    share = mass / mass.sum()
    lines = [f"L {int(case.seq_lens[token])}: {active} of {case.S} segments active"]
    if not active:
        return lines
    header = ("segment", "m", "s", "o" if column is not None else "o[0]", "weight", "share")
    lines.append("".join(f"{title:>16}" for title in header))
    for i in range(active):
        cells = [f"{float(value):.7g}" for value in (m[i], s[i], o[i])]
        cells += [f"{float(weight[i]):.3g}", f"{float(share[i]):.3%}"] if bool(live[i]) else ["empty", "-"]
        lines.append("".join(f"{cell:>16}" for cell in (str(i), *cells)))
    return lines


if __name__ == "__main__":
    sys.exit(main())
