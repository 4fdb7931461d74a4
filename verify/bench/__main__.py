"""`python -m verify.bench`: how fast and how accurate a kernel is, and how fast the oracle."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from fuzz.production import RANK
from reports.serialize import stratum_record, write_text
from verify.bench.accuracy import measure_accuracy
from verify.bench.kernels import KernelSpeed, measure_shape
from verify.bench.oracle import measure_oracle
from verify.bench.table import accuracy_table, oracle_table, to_data, to_table
from verify.bench.timing import read_bandwidth
from verify.bounds import load_bounds
from verify.campaign.environment import describe_environment, describe_tool, relevant_variables
from verify.cli.config import Settings
from verify.cli.exits import CLEAN, FOUND, NOTHING_JUDGED, guarded, say
from verify.cli.options import DEVICE, KERNEL, OUT, QUIET, WORKERS
from verify.cli.settings import device_of, settings_of, workers_of
from verify.cli.special import ACCURACY, ORACLE, SHAPES
from verify.subjects.load import load_subject

SCHEMA = "mla-merge-bench/1"
BASELINE = "baseline_fp32"
ORACLE_ROWS = {"cpu": 1 << 13, "cuda": 1 << 17}  # of 512 outputs, in each process

OPTIONS = (KERNEL, SHAPES, ORACLE, ACCURACY, DEVICE, WORKERS, OUT, QUIET)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return guarded(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    settings = settings_of("bench", __doc__ or "", OPTIONS, argv)
    device = device_of(settings)
    if settings["oracle"]:
        return _oracle(settings, device)
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # this process is the one that loads the kernel
    if settings["accuracy"]:
        return _accuracy(settings, device)
    return _kernel(settings, device)


def _oracle(settings: Settings, device: str) -> int:
    found = []
    for speed in measure_oracle(device, ORACLE_ROWS[device], workers_of(settings)):
        found.append(speed)
        _tell(settings, f"{speed.data}: {speed.outputs_per_s:.3g} outputs/s")
    table = oracle_table(found)
    title = "Speed of the oracle"
    about = "Whole merges, S = 16, R = 512, median of 3, beside a plain mpmath loop over the same data."
    _write(
        settings, device, "bench-oracle", title, about, table, {"data": [asdict(speed) for speed in found]}
    )
    say(f"PASS oracle typical {found[0].outputs_per_s:.3g} outputs/s, {found[0].ratio:.0f} times the loop")
    return CLEAN


def _accuracy(settings: Settings, device: str) -> int:
    subject = load_subject(settings["kernel"])
    found = []
    for strata in measure_accuracy(subject, device, settings["accuracy"], load_bounds()):
        found += strata
        _tell(settings, f"{strata[0].key.dtype} judged")
    failed = sum(stratum.failed for stratum in found)
    about = f"""At least {settings["accuracy"]} outputs of every dtype, S from 1 to 128, R = 512.
A tenth of the segments is empty. Errors are in ulp of the format."""
    rows = {"strata": [stratum_record(stratum) for stratum in found]}
    title = f"Accuracy of {subject.name} on producer-domain data"
    _write(settings, device, "bench-accuracy", title, about, accuracy_table(found), rows)
    worst = max(stratum.judged_ulp for stratum in found)
    say(f"{'FAIL' if failed else 'PASS'} {subject.name} failed {failed} worst judged {worst:.4f} ulp")
    return FOUND if failed else CLEAN


def _kernel(settings: Settings, device: str) -> int:
    if device != "cuda":
        print("nothing measured: torch sees no GPU here, and speeds are a GPU's", file=sys.stderr)
        return NOTHING_JUDGED
    subject, baseline = load_subject(settings["kernel"]), load_subject(BASELINE)
    bounds = load_bounds()
    bandwidth = read_bandwidth()
    found: list[KernelSpeed] = []
    for shape in settings["shapes"]:
        found.append(measure_shape(subject, baseline, shape, bounds))
        torch.cuda.empty_cache()
        _tell(settings, f"{len(found)} of {len(settings['shapes'])} shapes")
    about = f"""Reading 1 GiB with torch.sum: {bandwidth / 1e9:.0f} GB/s.
bfloat16 output, R = {RANK}. Times are medians over replays of a CUDA graph of many calls, with their 20th and
80th percentiles; warm: the same inputs again and again; cold: inputs in rotation, none of them in a cache.
Ratios are the time of {BASELINE} over the kernel's, both of this run. Errors are the largest, in ulp, of the
first rows of the same data."""
    data = {
        "subject": subject.name,
        "baseline": BASELINE,
        "rank": RANK,
        "dtype": "bfloat16",
        "read_bytes_per_s": bandwidth,
        "shapes": [to_data(speed, bandwidth) for speed in found],
    }
    _write(settings, device, "bench", f"Speed of {subject.name}", about, to_table(found, bandwidth), data)
    inaccurate = sum(speed.warm is None for speed in found)
    word = "FAIL" if inaccurate else "PASS"
    say(f"{word} {subject.name} shapes {len(found)} inaccurate {inaccurate} read {bandwidth / 1e9:.0f} GB/s")
    return FOUND if inaccurate else CLEAN


def _write(
    settings: Settings, device: str, name: str, title: str, about: str, table: str, data: dict[str, Any]
) -> None:
    """Write NAME.json and NAME.md into the folder, and the table to stdout."""
    environment = describe_environment(device, relevant_variables())
    versions = ", ".join(f"{library} {version}" for library, version in environment["versions"].items())
    where = f"{environment['device']}; {versions}."
    body = {"schema": SCHEMA, "tool": describe_tool(), "environment": environment, **data}
    write_text(settings["out"] / f"{name}.json", json.dumps(body, indent=1, allow_nan=False) + "\n")
    write_text(settings["out"] / f"{name}.md", f"# {title}\n\n{where}\n{about}\n\n{table}\n")
    say(table)


def _tell(settings: Settings, said: str) -> None:
    if not settings["quiet"]:
        print(said, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
