"""The kernels under test: how one is named, loaded and called. Nothing else in `verify` imports a kernel."""

from verify.subjects.declare import supports

__all__ = ["supports"]
