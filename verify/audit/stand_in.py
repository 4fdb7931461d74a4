"""A stand-in for a GPU: torch and Triton say that it is there, so that a launcher goes as far as its launch.

A launcher asks whether its tensors are on a GPU, allocates there, and may choose by the device what to
launch. On a machine without one it would refuse, or take its way around: what is then compiled would not be
what a GPU runs. Here every tensor on the CPU says that it is on `cuda:0`, what asks for that device gets
the CPU, and Triton compiles for the target. This changes torch for the whole process and for good: it
belongs in a child that does nothing else.
"""

# It replaces attributes of torch and Triton that type checkers know better.
# mypy: disable-error-code="no-untyped-call, method-assign, assignment, attr-defined, misc"

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._device import _device_constructors
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from verify.audit.targets import Target

_NEW = ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided")
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
_HERE = "cpu"


def stand_in(target: Target) -> None:
    """Let torch and Triton take this process's CPU for a device of this architecture."""
    device = torch.device("cuda", 0)
    torch.Tensor.is_cuda = property(lambda tensor: True)
    torch.Tensor.is_cpu = property(lambda tensor: False)
    torch.Tensor.device = property(lambda tensor: device)
    torch.Tensor.get_device = lambda tensor: 0
    torch.Tensor.cuda = lambda tensor, *args, **kwargs: tensor
    torch.Tensor.to = _on_cpu(torch.Tensor.to)
    for name in _NEW:
        setattr(torch.Tensor, name, _on_cpu(getattr(torch.Tensor, name)))
    names = {getattr(function, "__name__", "") for function in _device_constructors()}
    for name in names.union(_LIKE):
        if hasattr(torch, name):
            setattr(torch, name, _on_cpu(getattr(torch, name)))
    _pretend_cuda(target)
    driver.set_active(_Driver(target))


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that is told of a GPU, by position or by name, work on the CPU."""

    @functools.wraps(function)
    def here(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_HERE if _is_gpu(value) else value for value in args)
        return function(*args, **{k: _HERE if _is_gpu(value) else value for k, value in kwargs.items()})

    return here


def _is_gpu(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


def _pretend_cuda(target: Target) -> None:
    major, minor = target.capability
    properties = SimpleNamespace(
        name=target.of,
        major=major,
        minor=minor,
        gcnArchName=target.name,
        multi_processor_count=128,
        warp_size=target.warp,
        total_memory=1 << 36,
        shared_memory_per_block_optin=1 << 16,
    )
    stream = SimpleNamespace(cuda_stream=0, synchronize=lambda: None, device=torch.device("cuda", 0))
    answers: dict[str, Any] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "set_device": None,
        "synchronize": None,
        "_exchange_device": 0,
        "_maybe_exchange_device": 0,
        "get_device_capability": (major, minor),
        "get_device_properties": properties,
        "get_device_name": target.of,
        "current_stream": stream,
        "is_current_stream_capturing": False,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *args, _answer=answer, **kwargs: _answer)
    torch.version.cuda = None if target.backend == "hip" else "13.0"
    torch.version.hip = "7.0" if target.backend == "hip" else None


class _Driver:
    """What Triton asks of its active driver on the way to a compilation."""

    def __init__(self, target: Target) -> None:
        self._target = GPUTarget(target.backend, target.arch, target.warp)
        properties = {"max_shared_mem": 1 << 16, "multiprocessor_count": 128, "warpSize": target.warp}
        self.utils = SimpleNamespace(get_device_properties=lambda device: properties)

    def get_current_target(self) -> GPUTarget:
        """Return what is compiled for."""
        return self._target

    def get_current_device(self) -> int:
        """Return the number of the only device."""
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        """Return a stream that nothing is ever put into."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Return the device that tensors say they are on."""
        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """Return one that calls and does not time: an autotuner then compiles all its configurations."""

        def benchmark(call: Callable[[], Any], **options: Any) -> list[float]:
            call()
            return [1.0] * len(options.get("quantiles") or (0.5,))

        return benchmark
