"""A law needs neither a kernel nor the oracle."""

import subprocess
import sys

SCRIPT = """
import sys
import {module}
names = ("verify.subjects", "verify.oracle", "verify.museum", "mla_merge", "triton")
print([name for name in names if name in sys.modules])
"""


def loaded(module):
    script = SCRIPT.format(module=module)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_the_laws_load_no_kernel_and_no_oracle():
    assert loaded("verify.laws") == "[]"


def test_that_would_be_noticed():
    assert "verify.subjects" in loaded("verify.subjects.call")
