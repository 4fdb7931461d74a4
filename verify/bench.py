"""`python -m verify.bench`: the speed of a kernel beside a plain float32 one and the machine's bandwidth."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import torch

from reports.serialize import write_text
from verify.bounds import load_bounds
from verify.campaign.environment import describe_environment, describe_tool, relevant_variables
from verify.config import Option
from verify.exits import CLEAN, FOUND, NOTHING_JUDGED, guarded, say
from verify.options import KERNEL, OUT, QUIET, settings_of
from verify.speed.kernels import RANK, SHAPES, KernelSpeed, Shape, measure_shape
from verify.speed.table import to_data, to_table
from verify.speed.timing import read_bandwidth
from verify.subjects.load import load_subject

SCHEMA = "mla-merge-bench/1"
BASELINE = "baseline_fp32"


def shapes(text: str) -> tuple[Shape, ...]:
    """Parse shapes as `T,H,S,active`, several with a semicolon between."""
    found = []
    for part in text.split(";"):
        try:
            t, h, s, active = (int(number) for number in part.split(","))
        except ValueError:
            raise ValueError(
                f"{part!r} is not a shape: wanted T,H,S,active, several with ; between"
            ) from None
        if min(t, h, s) < 1 or not 0 <= active <= s:
            raise ValueError(f"{part!r} is not a shape: T, H and S are at least 1, active from 0 to S")
        found.append(Shape(tokens=t, heads=h, segments=s, active=active))
    return tuple(found)


OPTIONS = (
    KERNEL,
    Option(
        name="shapes",
        parse=shapes,
        default=SHAPES,
        metavar="T,H,S,ACTIVE;…",
        help=f"what to merge, R = {RANK}; default: {len(SHAPES)} shapes of production",
    ),
    OUT,
    QUIET,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("bench", __doc__ or "", OPTIONS, argv)
    if not torch.cuda.is_available():
        print("nothing measured: torch sees no GPU here, and speeds are a GPU's", file=sys.stderr)
        return NOTHING_JUDGED
    subject, baseline = load_subject(settings["kernel"]), load_subject(BASELINE)
    bounds = load_bounds()
    bandwidth = read_bandwidth()
    found: list[KernelSpeed] = []
    for shape in settings["shapes"]:
        found.append(measure_shape(subject, baseline, shape, bounds))
        torch.cuda.empty_cache()
        if not settings["quiet"]:
            print(f"{len(found)} of {len(settings['shapes'])} shapes", file=sys.stderr, flush=True)
    environment = describe_environment("cuda", relevant_variables())
    table = to_table(found, bandwidth)
    data = {
        "schema": SCHEMA,
        "tool": describe_tool(),
        "environment": environment,
        "subject": subject.name,
        "baseline": BASELINE,
        "rank": RANK,
        "dtype": "bfloat16",
        "read_bytes_per_s": bandwidth,
        "shapes": [to_data(speed, bandwidth) for speed in found],
    }
    out = settings["out"]
    write_text(out / "bench.json", json.dumps(data, indent=1, allow_nan=False) + "\n")
    write_text(out / "bench.md", _page(subject.name, environment, bandwidth, table))
    say(table)
    inaccurate = sum(speed.warm is None for speed in found)
    word = "FAIL" if inaccurate else "PASS"
    say(f"{word} {subject.name} shapes {len(found)} inaccurate {inaccurate} read {bandwidth / 1e9:.0f} GB/s")
    return FOUND if inaccurate else CLEAN


def _page(name: str, environment: dict[str, Any], bandwidth: float, table: str) -> str:
    versions = ", ".join(f"{library} {version}" for library, version in environment["versions"].items())
    return f"""# Speed of {name}

{environment["device"]}, driver {environment["driver"]}; {versions}.
Reading 1 GiB with torch.sum: {bandwidth / 1e9:.0f} GB/s.
bfloat16 output, R = {RANK}. Times are medians over replays of a CUDA graph of many calls, with their 20th and
80th percentiles; warm: the same inputs again and again; cold: inputs in rotation, none of them in a cache.
Ratios are the time of {BASELINE} over the kernel's, both of this run. Errors are the largest, in ulp, of the
first rows of the same data.

{table}
"""


if __name__ == "__main__":
    sys.exit(main())
