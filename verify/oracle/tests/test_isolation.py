"""The oracle shares no code with what it judges: importing and using it loads none of that."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

USE = """
import sys
import torch
from verify.oracle import evaluate
from verify.oracle.tests.seven import FLOAT32
ones = torch.ones(1, 2, 3)
exact = evaluate(torch.ones(1, 2, 3, 4), ones, ones, torch.tensor([3]), FLOAT32, FLOAT32)
assert exact.output.rounded.unique().tolist() == [1.0], exact
names = [n for n in sys.modules if n.partition(".")[0] in ("triton", "mla_merge", "fuzz", "reports")]
names += [n for n in sys.modules if n.startswith("verify.") and not (n + ".").startswith("verify.oracle.")]
print("loaded:", *sorted(names))
"""


def loaded(root: Path) -> list[str]:
    """Use the oracle of a checkout in a fresh process; return the forbidden modules that it then holds."""
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, cwd=root, env={"PATH": ""}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("loaded:")[1].split()


def test_oracle_imports_no_kernel_and_no_inputs():
    assert loaded(ROOT) == []


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("triton", "dyadic.py"),
        ("mla_merge", "evaluate.py"),
        ("fuzz", "cascade.py"),
        ("reports", "values.py"),
        ("verify.judge", "exact.py"),
    ],
)
def test_a_planted_import_is_seen(name, module, tmp_path):
    shutil.copytree(ROOT / "verify" / "oracle", tmp_path / "verify" / "oracle")
    (tmp_path / "verify" / "__init__.py").write_text("")
    planted = tmp_path / f"{name.replace('.', '/')}.py"
    planted.write_text("")
    victim = tmp_path / "verify" / "oracle" / module
    victim.write_text(f"{victim.read_text()}\nimport {name}\n")
    assert loaded(tmp_path) == [name]
