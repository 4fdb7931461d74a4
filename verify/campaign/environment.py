"""What a run was made on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("torch", "triton", "numpy", "mpmath", "hypothesis")
_PREFIXES = ("TRITON_", "CUDA_", "HIP_", "PYTORCH_")


def relevant_variables() -> dict[str, str]:
    """Return the environment variables of this process that can change what a kernel computes."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)}


def describe_environment(device: str, variables: dict[str, str]) -> dict[str, Any]:
    """Return device, arch, driver, versions and the `variables` that the kernel's processes had."""
    versions = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = "absent"
    where: dict[str, Any] = {"device": _processor(), "arch": platform.machine()}
    if torch.device(device).type == "cuda":
        properties = torch.cuda.get_device_properties(torch.device(device))
        arch = getattr(properties, "gcnArchName", None) or f"sm_{properties.major}{properties.minor}"
        where = {"device": properties.name, "arch": arch, "driver": _driver()}
    return {**where, "cpus": os.cpu_count(), "versions": versions, "variables": variables}


def describe_tool() -> dict[str, Any]:
    """Return the version of this suite and the state of its checkout."""
    revision = _run("git", "-C", str(_ROOT), "rev-parse", "HEAD")
    return {
        "name": "mla-merge-verify",
        "version": _version(),
        "revision": revision or "unknown",
        "dirty": bool(_run("git", "-C", str(_ROOT), "status", "--porcelain", "--untracked-files=no")),
    }


def _version() -> str:
    try:
        return metadata.version("mla-merge-verify")
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Return the processor's name where the system tells it, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _driver() -> str:
    answer = _run("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return answer.splitlines()[0] if answer else "unknown"


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
