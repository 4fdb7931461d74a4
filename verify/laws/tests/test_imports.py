"""A law needs no kernel, and of the oracle's package nothing but plain data."""

import subprocess
import sys

SCRIPT = """
import sys
import {module}
names = ("verify.subjects", "verify.museum", "verify.campaign", "mla_merge", "triton")
print([name for name in names if name in sys.modules])
"""


def loaded(module):
    script = SCRIPT.format(module=module)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_the_laws_load_no_kernel():
    assert loaded("verify.laws") == "[]"


def test_that_would_be_noticed():
    assert "verify.subjects" in loaded("verify.subjects.call")
