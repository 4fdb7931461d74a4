"""A finding as a script that needs only torch and the kernel: for whoever has to mend it elsewhere."""

from __future__ import annotations

import textwrap
from pathlib import Path

import torch

from fuzz.case import MergeCase
from verify.observed import Fault, decimal
from verify.subjects.load import NAMED

MOST_WORDS = 1 << 16
"""Words of input that a script may hold; beyond that the case's file alone has to do."""

_TEMPLATE = '''"""{title}

{said}
Run it with Python where torch and the kernel can be imported.
"""

import importlib{more}
import os

import torch

DEVICE = {device!r}
if DEVICE == "cpu":
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before the kernel imports triton


def words(text, dtype, *shape):
    """Read a tensor from the bits of its elements."""
    values = [int(word, 16) for word in text.split()]
    wide = torch.tensor(values, dtype=torch.int64)
    return (wide if dtype is torch.int64 else wide.to(torch.int32).view(dtype)).reshape(shape).to(DEVICE)


{loading}
o = words("""{o}""", torch.float32, {shape}, {rank})
m = words("""{m}""", torch.float32, {shape})
s = words("""{s}""", torch.float32, {shape})
seq_lens = words("""{lengths}""", {length_dtype}, {tokens})
output, lse = merge(o, m, s, seq_lens, {tile}, torch.{dtype})
print("output", output.float().cpu())
print("lse   ", lse.cpu())
print({wanted!r})
'''


def script_of(case: MergeCase, fault: Fault, kernel: str, device: str) -> str | None:
    """Return the script's text; None for a case of too many numbers, or one whose strides matter."""
    if case.segm_output.numel() > MOST_WORDS or case.layout != "contiguous":
        return None
    at = f" at {list(fault.where)}" if fault.where is not None else ""
    wanted = f"the {fault.result or 'call'}{at}: {fault.message}"
    if fault.exact is not None:
        wanted += f" (right: {decimal(fault.exact)} = {fault.exact.hex()})"
    said = " ".join(fault.message.replace('"', "'").replace("\\", "/").split())
    place, _, function = NAMED.get(kernel, kernel).rpartition(":")
    return _TEMPLATE.format(
        title=f"{fault.kind.value}, noticed by {fault.detector}.",
        said="\n".join(textwrap.wrap(said, 100)),
        more=".util\nimport sys" if place.endswith(".py") else "",
        device=device,
        loading=_loading(place, function),
        o=_words(case.segm_output),
        m=_words(case.segm_max),
        s=_words(case.segm_expsum),
        lengths=_words(case.seq_lens),
        length_dtype=case.seq_lens.dtype,
        shape=f"{case.T}, {case.H}, {case.S}",
        rank=case.R,
        tokens=case.T,
        tile=case.tile_size,
        dtype=case.out_dtype,
        wanted=wanted,
    )


def _loading(place: str, function: str) -> str:
    if not place.endswith(".py"):
        return f"merge = importlib.import_module({place!r}).{function}\n"
    file = str(Path(place).resolve())
    return (
        f"sys.path.insert(0, {str(Path(file).parent)!r})\n"
        f'spec = importlib.util.spec_from_file_location("kernel", {file!r})\n'
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules[spec.name] = module\n"
        "spec.loader.exec_module(module)\n"
        f"merge = module.{function}\n"
    )


def _words(tensor: torch.Tensor) -> str:
    flat = tensor.contiguous().cpu().reshape(-1)
    bits = flat if flat.dtype == torch.int64 else flat.view(torch.int32)
    return "\n".join(textwrap.wrap(" ".join(f"{word:#x}" for word in bits.tolist()), 100))
