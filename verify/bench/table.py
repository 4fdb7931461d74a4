"""What was measured, as tables for people and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reports.markdown import table
from reports.strata import Stratum
from verify.bench.kernels import KernelSpeed
from verify.bench.oracle import OracleSpeed
from verify.bench.timing import Timing

HEADER = (
    *("T, H, S, active", "MB", "warm µs (p20–p80)", "cold µs (p20–p80)", "cold GB/s", "of read bandwidth"),
    *(
        "baseline warm",
        "baseline cold",
        "ratio warm",
        "ratio cold",
        "max ulp",
        "baseline ulp",
        "lse",
        "baseline lse",
    ),
)


def to_table(found: Sequence[KernelSpeed], bandwidth: float) -> str:
    """Write Markdown: one row a shape; bandwidth in bytes a second; ratios are baseline over kernel."""
    return table(HEADER, [_row(speed, bandwidth) for speed in found])


def oracle_table(found: Sequence[OracleSpeed]) -> str:
    """Write Markdown: one row for each kind of data."""
    header = (
        "data",
        "dtype",
        "device",
        "processes",
        "outputs",
        "outputs/s",
        "mpmath loop/s",
        "ratio",
        "tiers",
        "bits",
    )
    rows = []
    for speed in found:
        tiers = ", ".join(f"{name} {count}" for name, count in speed.tiers.items() if count)
        rates = (f"{speed.outputs_per_s:.3g}", f"{speed.loop_outputs_per_s:.3g}", f"{speed.ratio:.0f}")
        row = (
            speed.data,
            speed.dtype,
            speed.device,
            str(speed.processes),
            str(speed.outputs),
            *rates,
            tiers,
            str(speed.bits),
        )
        rows.append(row)
    return table(header, rows)


def accuracy_table(found: Sequence[Stratum]) -> str:
    """Write Markdown: one row for each dtype and result."""
    header = (
        "dtype",
        "result",
        "values",
        "failed",
        "max ulp",
        "judged ulp",
        "margin",
        "misrounded",
        "bias, ulp",
    )
    rows = []
    for stratum in found:
        sizes = (f"{value:.6f}" for value in (stratum.max_ulp, stratum.judged_ulp, stratum.margin))
        shares = (f"{stratum.misrounded_fraction:.2e}", f"{stratum.mean_signed_ulp:.1e}")
        counts = (str(stratum.outputs), str(stratum.failed))
        rows.append((stratum.key.dtype, stratum.key.result, *counts, *sizes, *shares))
    return table(header, rows)


def to_data(speed: KernelSpeed, bandwidth: float) -> dict[str, Any]:
    """Return the numbers of one shape, the derived ones too."""
    data = asdict(speed) | {"bytes": speed.shape.bytes}
    for name, timing in (("warm", speed.warm), ("cold", speed.cold)):
        if timing is not None:
            rate = 1e6 * speed.shape.bytes / timing.median
            data |= {f"{name}_bytes_per_s": rate, f"{name}_share_of_read_bandwidth": rate / bandwidth}
    return data


def _row(speed: KernelSpeed, bandwidth: float) -> list[str]:
    cells = [str(speed.shape).replace(",", ", "), f"{speed.shape.bytes / 1e6:.0f}"]
    if speed.warm is None or speed.cold is None:
        cells += [f"no speed: {speed.accuracy.failed} values outside the bounds", "–", "–", "–"]
    else:
        rate = 1e6 * speed.shape.bytes / speed.cold.median
        cells += [_time(speed.warm), _time(speed.cold), f"{rate / 1e9:.0f}", f"{rate / bandwidth:.0%}"]
    cells += [f"{speed.baseline_warm.median:.2f}", f"{speed.baseline_cold.median:.2f}"]
    cells += [_ratio(speed.baseline_warm, speed.warm), _ratio(speed.baseline_cold, speed.cold)]
    ulps = (speed.accuracy.output_ulp, speed.baseline_accuracy.output_ulp)
    lses = (speed.accuracy.lse_ulp, speed.baseline_accuracy.lse_ulp)
    return cells + [f"{ulp:.4f}" for ulp in (*ulps, *lses)]


def _time(timing: Timing) -> str:
    return f"{timing.median:.2f} ({timing.p20:.2f}–{timing.p80:.2f})"


def _ratio(baseline: Timing, kernel: Timing | None) -> str:
    return "–" if kernel is None else f"{baseline.median / kernel.median:.2f}"
