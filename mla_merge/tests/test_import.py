"""What importing the package does to a process, seen from outside."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

UNCHANGED = """
import os
before = dict(os.environ)
import mla_merge
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
assert mla_merge.__all__ == ["merge_mla_segments_triton"]
"""

WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None
try:
    import mla_merge
except ImportError as error:
    print(error)
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_changes_no_environment():
    run(UNCHANGED)


def test_missing_triton_is_one_line_that_names_the_extra():
    message = run(WITHOUT_TRITON)
    assert message.count("\n") == 1
    assert "pip install 'mla-merge-verify[cpu]'" in message
