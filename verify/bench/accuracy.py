"""The accuracy of a kernel on as many outputs of producer-domain data as asked for."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from fuzz.formats import FORMATS
from reports.strata import Stratum, StratumKey
from verify.bench.data import production_case
from verify.bounds import Bounds
from verify.campaign.measure import strata_of
from verify.judge import judge
from verify.oracle.evaluate import evaluate
from verify.subjects.call import call_subject
from verify.subjects.load import Subject

_HEADS, _RANK = 16, 512
_SEGMENTS = (128, 64, 16, 8, 2, 1)  # in turn; the fewer segments, the more outputs fit into a call
_CHUNK = {"cpu": 1 << 20, "cuda": 1 << 26}  # partial elements of one call


def measure_accuracy(subject: Subject, device: str, outputs: int, bounds: Bounds) -> Iterator[list[Stratum]]:
    """Yield, dtype by dtype, the strata of output and lse over at least `outputs` outputs; none is skipped.

    Raises ValueError with the fault's message where a call gives nothing that can be judged.
    """
    for dtype in FORMATS:
        found: dict[StratumKey, Stratum] = {}
        done = call = 0
        while done < outputs:
            segments = _SEGMENTS[call % len(_SEGMENTS)]
            tokens = max(1, min(_CHUNK[device] // segments, outputs) // (_HEADS * _RANK))
            case = production_case(
                tokens, _HEADS, segments, _RANK, dtype=dtype, device=device, seed=call, empty=0.1
            )
            returned = call_subject(subject, case)
            if returned.returned is None:
                raise ValueError(returned.faults[0].message)
            exact = evaluate(
                case.segm_output,
                case.segm_max,
                case.segm_expsum,
                case.active,
                FORMATS[dtype],
                FORMATS["float32"],
            )
            judged = judge(case, returned.returned, exact, bounds)
            name = f"call {call}"
            for stratum in strata_of(judged, family="production", domain="producer", dtype=dtype, case=name):
                known = found.get(stratum.key)
                found[stratum.key] = stratum if known is None else known.merged(stratum)
            done += case.outputs
            call += 1
            del case, exact, judged, returned
            if device == "cuda":
                torch.cuda.empty_cache()
        yield list(found.values())
