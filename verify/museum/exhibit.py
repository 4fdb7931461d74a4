"""What stands in the museum: a kernel with one fault, or one without any, and its label."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from torch import Tensor

from verify.laws import LAWS

DETECTORS = (
    *("oracle", "marker", "guard band", "input copy", "signature", "isolation"),
    *(f"law {name}" for name in LAWS),
)
"""Whatever can notice a fault, by the name that a finding bears."""


class Wing(StrEnum):
    """The classes of faults; each is a module of this package, apart from the one of Triton kernels."""

    PARTITION = "partition"
    SCALE = "base and scale"
    PRECISION = "precision of an intermediate"
    ROUNDING = "rounding and store"
    EMPTIES = "empties and identities"
    NAN_POLICY = "NaN policy"
    RANGE = "overflow and underflow"
    LAYOUT = "layout and strides"
    WIDTH = "32-bit arithmetic"
    WRITES = "unwritten and racing outputs"
    DEPENDENCE = "determinism and batch dependence"
    ORDER = "order of addition"
    ALGEBRA = "algebra of a mean"
    SIDE_EFFECTS = "side effects"
    PROCESS = "process faults"


class Need(StrEnum):
    """What a machine must have before a kernel can be run, or its fault be seen."""

    TRITON = "triton"
    """Triton, which interprets on a CPU."""
    GPU = "gpu"
    """A GPU, for want of memory elsewhere or because only there programs run at once."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A kernel with a label; called as the kernel itself."""

    name: str
    """Its name, and that of the module's variable that holds it."""
    merge: Callable[..., tuple[Tensor, Tensor]]
    """The kernel."""
    needs: tuple[Need, ...] = ()
    """What a machine must have to run it."""
    exact: bool = False
    """Whether it promises the exact algebra bit by bit."""

    def __call__(self, *args: Any, **outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Call the kernel."""
        return self.merge(*args, **outputs)

    @property
    def __signature__(self) -> inspect.Signature:
        """What the kernel takes: some can be handed their outputs."""
        return inspect.signature(self.merge)

    @property
    def __wrapped__(self) -> Any:
        """What `inspect` reads the source of: the function, or the class of an object."""
        return self.merge if hasattr(self.merge, "__code__") else type(self.merge)

    @property
    def mla_verify(self) -> Mapping[str, object]:
        """What it declares, where `@supports` would write it."""
        return {"exact": self.exact}

    @property
    def sentence(self) -> str:
        """Say in one sentence what the kernel does."""
        said: str = getattr(self.merge, "sentence", "") or self.merge.__doc__ or ""
        return " ".join(said.split())

    @property
    def path(self) -> str:
        """What `--kernel` takes to load it."""
        return f"{self.__wrapped__.__module__}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Exhibit(Piece):
    """A kernel with exactly one fault."""

    wing: Wing
    """Class of the fault."""
    detectors: tuple[str, ...]
    """What may notice it, of DETECTORS; first the one that it is there to test."""
    families: tuple[str, ...]
    """Families of inputs that it shows on, among others; the likeliest first."""
    dtypes: tuple[str, ...] = ()
    """Output formats that it shows in; empty for all."""
    shape: Mapping[str, int] = field(default_factory=dict)
    """Fields of a recipe that it takes to show, such as {"segments": 130}; empty where any will do."""
    thread: str = ""
    """Public thread about a fault of this kind, as repository#number; empty where none is known."""
    ends_process: bool = False
    """Whether the process that calls it is lost: it must run in a worker of its own."""


@dataclass(frozen=True, kw_only=True)
class Sound(Piece):
    """A kernel without a fault: whoever rejects it raises a false alarm."""

    bounds: str = "default"
    """The bounds that it keeps, `default` or `fp32`, as `--bounds` takes them."""
    outputs: int | None = None
    """Outputs of a case that it is fast enough for; None for any."""
