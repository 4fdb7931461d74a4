"""Compile the kernel for GPUs that need not be there; run as a program by test_compile.py.

A process that interprets cannot compile, hence a process of its own. Prints JSON:
{"target/dtype/regime/unit/S": {"assembly": PTX or AMD assembly, "local": bytes of local memory of a thread}}.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from mla_merge import plan
from mla_merge.kernel import merge_kernel
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


def compile_one(target: str, dtype: torch.dtype, regime: plan.Regime, unit: int, segments: int) -> Any:
    """Compile what the launcher would launch."""
    chosen = plan.Plan(rows=1, unit=unit, block_s=0, regime=regime, spread=True, grid=(1, 1))
    constants = {
        "BFLOAT16": dtype == torch.bfloat16,
        "UNIT": unit,
        "ROWS": 1,
        "BLOCK_R": regime.block_r,
        "VECTOR": chosen.vector,
        "BLOCK_S": plan.surveyed(segments, regime),
        "STEP": regime.step,
        "WHOLE": regime.whole,
        "EAGER": regime.eager,
        "PREFETCH": regime.prefetch,
        "EVICT": regime.evict,
        "SPREAD": True,
    }
    pointers = POINTERS | {"output_ptr": STORAGE[RULES[dtype].storage]}
    names = merge_kernel.arg_names
    signature = {name: "constexpr" if name in constants else pointers.get(name, "i32") for name in names}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in ("o_ptr", "output_ptr")}
    return triton.compile(
        ASTSource(merge_kernel, signature, constants, aligned),
        target=TARGETS[target],
        options={"num_warps": 1, "enable_fp_fusion": False},
    )


def local_bytes(compiled: Any, folder: Path) -> int:
    """How much local memory (scratch) a thread of it uses: spilled registers, for a kernel without arrays."""
    if "cubin" not in compiled.asm:
        return int(re.findall(r"\.private_segment_fixed_size: *(\d+)", compiled.asm["amdgcn"])[0])
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(compiled.asm["cubin"])
    cuobjdump = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    said = subprocess.run([cuobjdump, "-res-usage", cubin], capture_output=True, text=True, check=True)
    return max(int(n) for n in re.findall(r"STACK:(\d+)", said.stdout + said.stderr))


def main() -> None:
    """Compile each "target/dtype/regime/unit/S" argument."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for job in sys.argv[1:]:
            target, dtype, regime, unit, segments = job.split("/")
            compiled = compile_one(
                target, getattr(torch, dtype), getattr(plan, regime), int(unit), int(segments)
            )
            assembly = compiled.asm["ptx" if target.startswith("sm_") else "amdgcn"]
            found[job] = {"assembly": assembly, "local": local_bytes(compiled, Path(folder))}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
