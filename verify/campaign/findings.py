"""From the faults of a run to the findings of its report: grouped, shrunk, stored, replayable."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from fuzz.case import MergeCase
from fuzz.files import save_case
from fuzz.recipe import Recipe, expand
from reports.records import Finding
from reports.serialize import write_text
from reports.strata import case_order
from verify.campaign.inline import Inline
from verify.campaign.jobs import Job
from verify.campaign.outcome import Outcome
from verify.campaign.plan import Plan
from verify.campaign.pool import Pool
from verify.campaign.progress import Progress
from verify.campaign.row import number_of, place, proof_of, row_values, segments_of
from verify.campaign.script import script_of
from verify.campaign.shrink import shrink
from verify.observed import Fault, FaultKind
from verify.subjects.convention import SEGMENTS, Convention
from verify.subjects.peers import CONVENTIONS
from verify.subjects.recast import recast

_ALL, _EACH = 1500, 300  # attempts at shrinking, of a run and of one finding: seconds, whatever was found
_DIAGNOSED = 64  # groups, the most frequent, whose first case is run again to be diagnosed
_LOST = 500  # attempts that one costs whose process is lost, after a minute if it hangs


@dataclass(kw_only=True)
class Group:
    """Faults of one kind, result, cause and family: most likely of one origin."""

    fault: Fault
    """The first one."""
    job: Job
    """The job that showed it."""
    name: str
    """The same in every run: what its faults have in common."""
    count: int = 1
    """Cases of the run that showed such a fault."""


@dataclass(kw_only=True)
class Groups:
    """The faults of a run so far."""

    groups: dict[str, Group] = field(default_factory=dict)

    def add(self, outcome: Outcome, job: Job) -> None:
        """Count the faults of one case."""
        for fault in outcome.faults:
            # What one line raises is one fault, whatever the inputs are that lead there.
            raised = bool(fault.cause) and fault.detector == "isolation"
            name = "/".join(fault.alike if raised else (*fault.alike, outcome.family))
            if name in self.groups:
                self.groups[name].count += 1
            else:
                self.groups[name] = Group(fault=fault, job=job, name=name)


def write_findings(
    groups: Groups, plan: Plan, folder: Path, progress: Progress, pool: Pool | Inline | None
) -> list[Finding]:
    """Shrink one case of every group in the pool and store it; without a pool it is stored as it was drawn.

    Groups of one kind and detector that are consistent with the same hypothesis, or have one minimal shape,
    become one finding, the most frequent first; once the attempts are spent, the rarer ones are stored as
    they were drawn. So is a fault that costs a process, by its exit or a hang: every attempt to shrink it
    would cost another.
    """
    attempts = Attempts(pool) if pool is not None else None
    found: dict[str, Finding] = {}
    ordered = sorted(groups.groups.values(), key=_order)
    for done, group in enumerate(ordered):
        progress(done, len(ordered), "findings shrunk")
        group.fault = _diagnosed(group, pool) if done < _DIAGNOSED else group.fault
        name = _name_by_diagnosis(group.fault)
        known = found.get(name)
        if known is None:
            case, fault, shrunk = _reduced(group, attempts, CONVENTIONS[plan.convention])
            name = name or _name(case, fault, shrunk=shrunk)
            known = found.get(name)
        if known is None:
            found[name] = _finding(group, name, case, fault, shrunk, plan, folder)
        else:
            both = (*known.groups, _about(group))
            found[name] = replace(known, similar=known.similar + group.count, groups=both)
    return sorted(found.values(), key=lambda finding: -finding.similar)


def _diagnosed(group: Group, pool: Pool | Inline | None) -> Fault:
    """Return the group's fault with what it is consistent with: its case says more than a shrunk one."""
    fault = group.fault
    if pool is None or fault.lost_process or fault.detector != "oracle":
        return fault
    for again in pool.run_one(replace(group.job, stream=None, laws=(), diagnose=True)).faults:
        if again.alike == fault.alike:
            return replace(fault, diagnosis=again.diagnosis)
    return fault


def _order(group: Group) -> tuple[object, ...]:
    # The most frequent first; then as the cases came, also where shards are put together.
    return -group.count, group.job.rank, case_order(group.job.name), group.name


def _reduced(
    group: Group, attempts: Attempts | None, convention: Convention
) -> tuple[MergeCase, Fault, bool]:
    source, fault = group.job.input, group.fault
    case = recast(expand(source) if isinstance(source, Recipe) else source, convention)
    if attempts is None or attempts.left <= 0 or fault.lost_process:
        return case, fault, False
    laws = tuple(law for law in group.job.laws if fault.detector == f"law {law}")
    attempt = partial(attempts, replace(group.job, laws=laws))
    reduced = shrink(case, fault, attempt, limit=min(_EACH, attempts.left))
    if reduced is None:
        return case, replace(fault, message=f"{fault.message}; it did not show again when repeated"), False
    return reduced.case, reduced.fault, True


class Attempts:
    """The calls of the kernel that a run may spend on shrinking; called by a shrinker to try a case."""

    def __init__(self, pool: Pool | Inline) -> None:
        self._pool = pool
        self.left = _ALL
        """How many there still are."""

    def __call__(self, job: Job, case: MergeCase) -> tuple[Fault, ...]:
        """Run the case in the place of the job's and return its faults; none when no attempt is left."""
        if self.left <= 0:
            return ()
        outcome = self._pool.run_one(Job(name="shrinking", input=case, laws=job.laws, seed=job.seed))
        self.left -= _LOST if outcome.lost_process else 1
        return outcome.faults


def _name(case: MergeCase, fault: Fault, *, shrunk: bool) -> str:
    """Name a finding by what it has in common with others of its cause; by itself where that is unknown."""
    shape = f"T{case.T} H{case.H} S{case.S} R{case.R} {case.out_dtype} {case.layout}"
    alike = "/".join((*fault.alike, fault.detector, shape)).encode(errors="replace")
    if not shrunk:
        values = (case.segm_output, case.segm_max, case.segm_expsum, case.seq_lens)
        alike += b"".join(value.contiguous().cpu().numpy().tobytes() for value in values)
    return f"{fault.kind.value}-{hashlib.sha256(alike).hexdigest()[:10]}"


def _name_by_diagnosis(fault: Fault) -> str:
    """Name the finding of all faults that are consistent with the same; empty for one of no diagnosis."""
    if not fault.diagnosis:
        return ""
    alike = "/".join((*fault.alike, fault.detector, fault.diagnosis))
    return f"{fault.kind.value}-{hashlib.sha256(alike.encode(errors='replace')).hexdigest()[:10]}"


def _about(group: Group) -> dict[str, int | str]:
    return {"group": group.name, "first": group.job.rank, "cases": group.count, "case": group.job.name}


def _finding(
    group: Group, name: str, case: MergeCase, fault: Fault, shrunk: bool, plan: Plan, folder: Path
) -> Finding:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.safetensors"
    save_case(case, file)
    script = script_of(case, fault, plan.kernel, plan.device)
    if script is not None and plan.convention == SEGMENTS.name:
        write_text(file.with_suffix(".py"), script)
    convention = CONVENTIONS[plan.convention]
    source = group.job.input
    recipe = source if isinstance(source, Recipe) else source.recipe
    return Finding(
        id=name,
        kind=fault.kind.value,
        detector=fault.detector,
        family=group.job.family,
        result=fault.result,
        message=fault.message,
        recipe=recipe.to_record() if recipe is not None else None,
        case=group.job.name,
        shape={"T": case.T, "H": case.H, "S": case.S, "R": case.R, "tile": case.tile_size},
        where=place(fault),
        got=number_of(fault.got, fault, case, fault.code),
        exact=number_of(fault.exact, fault, case),
        ulp=fault.ulp,
        steps=fault.steps,
        bound=fault.bound,
        values=row_values(case, fault),
        shrunk=shrunk,
        similar=group.count,
        groups=(_about(group),),
        diagnosis=group.fault.diagnosis,
        proof=proof_of(case, fault, convention),
        segments=segments_of(case, fault, convention.base),
        repro={
            "file": str(file),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "command": _command(file, fault, group.job, plan),
        },
    )


def _command(file: Path, fault: Fault, job: Job, plan: Plan) -> str:
    """Return the command that shows the fault again."""
    words = ["python", "-m", "verify.replay", str(file), "--kernel", plan.kernel]
    law = fault.detector.startswith("law ")
    laws = (fault.detector.removeprefix("law "),) if law else job.laws
    if law or fault.lost_process:  # which of its calls ended the process, the process cannot tell
        words += ["--laws", ",".join(laws) or "none", "--law-seed", str(job.seed)]
    if fault.kind is FaultKind.TIMEOUT:
        words += ["--timeout", f"{plan.timeout_s:g}"]
    if plan.bounds.name != "default":
        words += ["--bounds", plan.bounds.name]
    if plan.convention != SEGMENTS.name:
        words += ["--convention", plan.convention]
    if plan.device == "cuda":
        words += ["--device", "cuda"]
    return shlex.join(words)
