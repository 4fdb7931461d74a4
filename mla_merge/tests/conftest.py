"""Where the tests of the merge run: in the interpreter on a CPU, or compiled on a GPU."""

import pytest
import torch


@pytest.fixture
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
