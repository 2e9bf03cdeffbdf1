"""What compiles modules in other processes, but fails for one of them."""

from __future__ import annotations

from collections.abc import Sequence

from jetpy.engines.cpu import ahead
from jetpy.errors import BackendError


def compile_modules(*modules: Sequence[str]) -> None:
    """Compile modules as `ahead.compile_modules` does, but not the wide kernels of one."""
    if ("WIDE", "jetpy.workloads.refinement.active") in map(tuple, modules):
        raise BackendError("line 7: no such thing as a part")
    ahead.compile_modules(*modules)
