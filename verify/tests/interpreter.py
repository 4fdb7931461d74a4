"""Plugin of this project's own tests: without a GPU, Triton kernels run in the interpreter.

Triton reads the variable when it is imported, and a conftest.py inside a package comes too late for that
package's own import of Triton.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
