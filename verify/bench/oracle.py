"""The speed of the oracle, beside a plain mpmath loop over the same data in the same run."""

from __future__ import annotations

import multiprocessing
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Barrier

import mpmath
import torch

from fuzz.case import MergeCase
from fuzz.formats import FORMATS
from fuzz.recipe import Recipe, expand
from verify.bench.data import production_case
from verify.oracle.evaluate import evaluate

_SEGMENTS, _RANK = 16, 512
_HARD_ROWS = 128  # of data that takes the slow tiers
_LOOP_OUTPUTS = 4096  # of the plain loop: enough for a rate to within a few percent
_LOOP_BITS = 200
_LOOP_ROWS = 64
_PATIENCE_S = 600.0


@dataclass(frozen=True, kw_only=True)
class OracleSpeed:
    """One kind of data through the oracle."""

    data: str
    """Key of the data: typical, structured (0.3 % escalate to the end), cancelling, ties, escalating."""
    dtype: str
    """Output format."""
    device: str
    """Where the vectorised tiers ran."""
    processes: int
    """Processes that judged at the same time."""
    outputs: int
    """Output values judged in one pass of all of them."""
    seconds: float
    """Median time of a pass, of the slowest process."""
    loop_outputs_per_s: float
    """Outputs a second of the plain mpmath loop on the same data."""
    tiers: dict[str, int]
    """Values (outputs and lses) that each tier decided."""
    bits: int
    """Most working bits used."""

    @property
    def outputs_per_s(self) -> float:
        """Outputs a second."""
        return self.outputs / self.seconds

    @property
    def ratio(self) -> float:
        """How many times as fast as the plain loop."""
        return self.outputs_per_s / self.loop_outputs_per_s


def measure_oracle(device: str, rows: int, processes: int, repeats: int = 3) -> Iterator[OracleSpeed]:
    """Measure one kind of data after the other, as a campaign uses the oracle: one process per core at once.

    Each process evaluates `rows` rows of 512 outputs of the first two kinds, and less of the others.
    """
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(processes, mp_context=context) as pool:
        start = manager.Barrier(processes)
        for name, build in _DATA.items():
            work = [pool.submit(_timed, name, rows, device, repeats, start) for _ in range(processes)]
            passes = [found.result() for found in work]
            slowest = [max(seconds) for seconds in zip(*(found.seconds for found in passes), strict=True)]
            yield OracleSpeed(
                data=name,
                dtype=passes[0].dtype,
                device=torch.cuda.get_device_name() if device == "cuda" else platform.machine(),
                processes=processes,
                outputs=sum(found.outputs for found in passes),
                seconds=statistics.median(slowest),
                loop_outputs_per_s=_loop_speed(build(_LOOP_ROWS, "cpu")),
                tiers={tier: sum(found.tiers[tier] for found in passes) for tier in passes[0].tiers},
                bits=max(found.bits for found in passes),
            )


@dataclass(frozen=True, kw_only=True)
class _Passes:
    """What one process did."""

    dtype: str
    outputs: int
    seconds: list[float]
    tiers: dict[str, int]
    bits: int


def _timed(name: str, rows: int, device: str, repeats: int, start: Barrier) -> _Passes:
    case = _DATA[name](rows, device)
    arguments = (case.segm_output, case.segm_max, case.segm_expsum, case.active)
    formats = FORMATS[case.out_dtype], FORMATS["float32"]
    helpers = 1 if device == "cpu" else None  # on a CPU the cores are taken by these processes already
    exact = evaluate(*arguments, *formats, processes=helpers)  # warms up what is made on first use
    seconds = []
    for _ in range(repeats):
        start.wait(_PATIENCE_S)  # so that no process has the machine to itself
        begun = time.perf_counter()
        exact = evaluate(*arguments, *formats, processes=helpers)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return _Passes(
        dtype=case.out_dtype, outputs=case.outputs, seconds=seconds, tiers=exact.tiers, bits=exact.bits
    )


def _loop_speed(case: MergeCase) -> float:
    """Time the loop that anybody would write for the same answer, at a precision that mostly suffices.

    Weights once a row; for each output a sum, a quotient, its rounding and the error of that in ulp.
    """
    columns = min(case.R, 64)
    rows = min(case.T * case.H, max(1, _LOOP_OUTPUTS // columns))
    m, s = (x.flatten(0, 1)[:rows].tolist() for x in (case.segm_max, case.segm_expsum))
    o = case.segm_output.flatten(0, 1)[:rows, :, :columns].transpose(1, 2).tolist()
    precision = FORMATS[case.out_dtype].precision
    start = time.perf_counter()
    with mpmath.workprec(_LOOP_BITS):
        for row in range(rows):
            top = max(m[row])
            weights = [mpmath.mpf(2) ** (mpmath.mpf(x) - mpmath.mpf(top)) for x in m[row]]
            den = mpmath.fsum(w * x for w, x in zip(weights, s[row], strict=True))
            for column in o[row]:
                y = mpmath.fsum(w * x for w, x in zip(weights, column, strict=True)) / den
                with mpmath.workprec(precision):
                    rounded = +y
                error = mpmath.ldexp(y - rounded, precision - 1 - mpmath.frexp(y)[1])
                float(rounded), float(error)
    return rows * columns / (time.perf_counter() - start)


def _typical(rows: int, device: str) -> MergeCase:
    return production_case(rows, 1, _SEGMENTS, _RANK, dtype="float32", device=device)


def _cancelling(share: float, remainder: float, rows: int, device: str) -> MergeCase:
    """Typical data, of which a share cancels but for a remainder of this size."""
    case = _typical(rows, device)
    o, m = case.segm_output, case.segm_max
    m[..., 1] = m[..., 0]
    random = torch.Generator(device).manual_seed(1)
    chosen = torch.rand(rows, 1, _RANK, generator=random, device=device) < share
    o[:, :, 1] = torch.where(chosen, -o[:, :, 0], o[:, :, 1])
    o[:, :, 2:] *= torch.where(chosen[:, :, None], remainder, 1.0)
    return case


def _ties(rows: int, device: str) -> MergeCase:
    """Every output an exact tie between bfloat16 neighbours, with weights that no float holds."""
    recipe = Recipe(
        family="ties",
        dtype="bfloat16",
        tokens=rows,
        heads=1,
        segments=_SEGMENTS,
        rank=_RANK,
        tile_size=1,
        seed=0,
        params={"kind": "constant", "lengths": "full"},
    )
    return expand(recipe, device)


_DATA: dict[str, Callable[[int, str], MergeCase]] = {
    "typical": _typical,
    "structured": partial(_cancelling, 0.003, 2.0**-100),
    "cancelling": lambda rows, device: _cancelling(1.0, 2.0**-40, min(rows, _HARD_ROWS), device),
    "ties": lambda rows, device: _ties(min(rows, _HARD_ROWS), device),
    "escalating": lambda rows, device: _cancelling(1.0, 2.0**-100, min(rows, _HARD_ROWS), device),
}
"""Typical and structured data, then what only the second, the third and the last tier decide."""
