"""Where the tests of the merge run: in the interpreter on a CPU, or compiled on a GPU."""

import os

import pytest
import torch

# Read by Triton when it is imported, which no test module does while it is collected before this.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
