"""Kernels, bounds and reports for the tests of the gate, and what it said of them."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import verify.gate.__main__ as gate
from fuzz.families import DRAWN
from reports.serialize import to_json
from reports.tests.examples import report
from verify.gate.tests.test_ratchet import PLAIN
from verify.laws import LAWS

TODAY = date(2026, 6, 1)
ROOT = Path(gate.__file__).resolve().parents[2]

MERGE = """
from verify.museum.honest import Merge


class Shifted(Merge):
    def rounded(self, y, fmt):
        self.shift = SHIFT if fmt.name == "bfloat16" else 0.0
        return super().rounded(y, fmt)

    def nearest(self, quanta):
        return (quanta + self.shift).round()


def merge(*inputs):
    return Shifted()(*inputs)
"""
RUN = ["--family", "producer", "--dtype", "bfloat16,float32", "--max-cases", "14", "--laws", "none"]
RUN += ["--workers", "1", "--min-outputs", "1000", "--isolate", "off"]


def write_kernel(shift):
    """Write the kernel whose bfloat16 outputs are off by half an ulp and this much more."""
    Path("k.py").write_text(MERGE.replace("SHIFT", str(shift)))


def bounds_file(ulp):
    """A file of bounds with another first term and nothing measured."""
    file = Path("mine.toml")
    file.write_text("# " + PLAIN.replace("ulp = 0.501", f"ulp = {ulp}"))
    return str(file)


def waived(name, kernel):
    """An entry of a ledger, to be reviewed today."""
    return (
        f'[[known]]\nid = "{name}"\nkernel = "{kernel}"\nissue = "https://example.org/1"\n'
        f'review = {TODAY}\nreason = "it is being mended"\n'
    )


def shown(capsys):
    out, error = capsys.readouterr()
    return out, error


WHOLE = {
    "families": ["corpus", *DRAWN, "hunt"],
    "dtypes": ["float32"],
    "laws": list(LAWS),
    "config": {"kernel": {"value": "k.py:merge", "source": "--kernel"}},
}
USED = {
    "name": "default",
    "ulp": 0.501,
    "unit_roundoff_log2": -53,
    "per_segment": 1,
    "constant": 16,
    "per_exponent": 1,
}


def made(name="r.json", **changes):
    """Write a report of a run that passes but for these changes, and return the file's name."""
    plain = report()
    parts = {
        "run": {**plain.run, **WHOLE, **changes.pop("run", {})},
        "totals": {**plain.totals, "outputs": 2_000_000, "outputs_per_s": 1.0, **changes.pop("totals", {})},
        "bounds": {**plain.bounds, "used": {**USED, **changes.pop("used", {})}},
        "environment": {**plain.environment, **changes.pop("environment", {})},
        "oracle": {**plain.oracle, **changes.pop("oracle", {})},
        "subject": {**plain.subject, **changes.pop("subject", {})},
        **changes,
    }
    Path(name).write_text(to_json(replace(plain, **parts)))
    return name


def gated(capsys, *words):
    """Return the exit code, the lines of each criterion that failed, and all that was shown."""
    code = gate.main([*words], today=TODAY)
    out, error = shown(capsys)
    failed = {line.split()[1] for line in out.splitlines() if line.startswith("FAIL  ")}
    return code, failed, out + error
