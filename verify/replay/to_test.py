"""A case as a pytest module that judges the kernel by it, to stand among the kernel's own tests."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

import torch

from fuzz.case import MergeCase
from verify.observed import Fault

MOST_WORDS = 4096
"""Numbers that a test may hold; a case of more is made from its recipe or read from its file."""

_TEMPLATE = '''"""Written by `python -m verify.replay --to-test`: {title}."""

{imports}

KERNEL = {kernel}
{helper}

def test_{name}():
    """{doc}."""
{body}
'''

_DEVICE = 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n'

_WORDS = (
    _DEVICE
    + '''

def words(text, dtype, *shape):
    """Read a tensor from the bits of its elements."""
    wide = torch.tensor([int(word, 16) for word in text.split()], dtype=torch.int64)
    return (wide if dtype is torch.int64 else wide.to(torch.int32).view(dtype)).reshape(shape).to(DEVICE)
'''
)


def as_test(
    case: MergeCase, fault: Fault | None, *, file: Path, kernel: str, options: Mapping[str, object]
) -> str:
    """Return the text of a module with one test, which fails as long as the kernel shows a fault.

    `file` is where the case is stored, `options` are those of `assert_merge` that are not as by default. A
    fault that ends the kernel's process is looked for in another one.
    """
    kind = "passes" if fault is None else fault.kind.value
    title = "a case that passes" if fault is None else f"{kind}, noticed by {fault.detector}"
    if fault is not None and fault.lost_process:
        imports, helper, body = _in_a_process(file, options)
    elif case.layout == "contiguous" and case.segm_output.numel() <= MOST_WORDS:
        imports, helper, body = _of_words(case, options)
    elif case.recipe is not None:
        imports, helper, body = _of_recipe(case, options)
    else:
        imports, helper, body = _of_file(file, options)
    return _TEMPLATE.format(
        title=_plain(title),
        imports=imports,
        kernel=json.dumps(kernel),
        helper=helper,
        name=re.sub(r"\W+", "_", f"merge_{kind}_{file.stem.rpartition('-')[2]}".lower()),
        doc=_plain(fault.message if fault is not None else "Every value is within its bound")[:90],
        body=textwrap.indent(body, "    "),
    )


def _plain(text: str) -> str:
    """Return text that a docstring can hold, whatever a kernel's exception said."""
    return " ".join(text.replace('"', "'").replace("\\", "/").split()).rstrip(".")


def _of_words(case: MergeCase, options: Mapping[str, object]) -> tuple[str, str, str]:
    shape = f"{case.T}, {case.H}, {case.S}"
    body = f'''\
o = words("""{_words(case.segm_output)}""", torch.float32, {shape}, {case.R})
m = words("""{_words(case.segm_max)}""", torch.float32, {shape})
s = words("""{_words(case.segm_expsum)}""", torch.float32, {shape})
seq_lens = words("""{_words(case.seq_lens)}""", {case.seq_lens.dtype}, {case.T})
assert_merge(KERNEL, o, m, s, seq_lens, {case.tile_size}, torch.{case.out_dtype}{_named(options)})'''
    return "import torch\n\nfrom verify import assert_merge", _WORDS, body


def _words(tensor: torch.Tensor) -> str:
    flat = tensor.contiguous().cpu().reshape(-1)
    bits = flat if flat.dtype == torch.int64 else flat.view(torch.int32)
    return "\n".join(textwrap.wrap(" ".join(f"{word:#x}" for word in bits.tolist()), 80))


def _of_recipe(case: MergeCase, options: Mapping[str, object]) -> tuple[str, str, str]:
    assert case.recipe is not None
    imports = "import torch\n\nfrom fuzz.recipe import Recipe, expand\nfrom verify import assert_merge"
    body = f"""\
recipe = Recipe.from_json({case.recipe.to_json()!r})
assert_merge(KERNEL, expand(recipe, DEVICE){_named(options)})"""
    return imports, _DEVICE, body


def _of_file(file: Path, options: Mapping[str, object]) -> tuple[str, str, str]:
    imports = "import torch\n\nfrom fuzz.files import load_case\nfrom verify import assert_merge"
    body = f"assert_merge(KERNEL, load_case({str(file)!r}).to(DEVICE){_named(options)})"
    return imports, _DEVICE, body


def _in_a_process(file: Path, options: Mapping[str, object]) -> tuple[str, str, str]:
    words = [f"{str(file)!r}", '"--kernel"', "KERNEL"]
    for name, value in options.items():
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        words += [repr(f"--{name.replace('_', '-')}"), repr(text or "none")]
    return "from verify.commands import main", "", f'assert main(["replay", {", ".join(words)}]) == 0'


def _named(options: Mapping[str, object]) -> str:
    return "".join(f", {name}={value!r}" for name, value in options.items())
