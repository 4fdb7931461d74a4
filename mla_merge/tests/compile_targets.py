"""Compile the kernel for GPUs that need not be there; run as a program by test_compile.py.

A process that interprets cannot compile, hence a process of its own. Prints JSON:
{"target/dtype/S/R": PTX or AMD assembly}.
"""

import json
import sys
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from mla_merge.kernel import merge_kernel
from mla_merge.plan import plan
from mla_merge.rounding import RULES

TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
    "gfx1201": GPUTarget("hip", "gfx1201", 32),
}
POINTERS = {"o_ptr": "*fp32", "m_ptr": "*fp32", "s_ptr": "*fp32", "len_ptr": "*i32", "lse_ptr": "*i32"}
STORAGE = {torch.int8: "*i8", torch.int16: "*i16", torch.int32: "*i32"}


def compile_one(target: str, dtype: torch.dtype, segments: int, rank: int) -> Any:
    """Compile what the launcher would launch for contiguous inputs of this shape."""
    rule = RULES[dtype]
    chosen = plan(24 * 96, segments, rank, interpreted=False)
    constants = {
        "o_stride_r": 1,
        "m_stride_s": 1,
        "s_stride_s": 1,
        "len_stride_t": 1,
        "PRECISION": rule.precision,
        "EMIN": rule.emin,
        "MAX_CODE": rule.max_code,
        "OVERFLOW_CODE": rule.overflow_code,
        "NAN_CODE": rule.nan_code,
        "SIGN_CODE": rule.sign_code,
        "SIGNED_ZERO": rule.signed_zero,
        "BLOCK_ROWS": chosen.block_rows,
        "BLOCK_R": chosen.block_r,
        "BLOCK_S": chosen.block_s,
    }
    pointers = POINTERS | {"output_ptr": STORAGE[rule.storage]}
    signature = {
        name: "constexpr" if name in constants else pointers.get(name, "i32")
        for name in merge_kernel.arg_names
    }
    return triton.compile(
        ASTSource(merge_kernel, signature, constants),
        target=TARGETS[target],
        options={"num_warps": chosen.num_warps, "enable_fp_fusion": False},
    )


def main() -> None:
    """Compile each "target/dtype/S/R" argument."""
    found = {}
    for job in sys.argv[1:]:
        target, dtype, segments, rank = job.split("/")
        compiled = compile_one(target, getattr(torch, dtype), int(segments), int(rank))
        found[job] = compiled.asm["ptx" if target.startswith("sm_") else "amdgcn"]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
