"""Memory of this process and of GPUs."""

from __future__ import annotations

import importlib
from pathlib import Path


def process_bytes(field: str) -> int:
    """Return a field of this process's memory statistics, in bytes.

    `resource.getrusage` is no substitute, because its peak includes the parent's memory.

    Raises
    ------
    OSError
        If the operating system does not provide the field.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {field}")


def reset_peak() -> None:
    """Make the peak memory of this process, the field `VmHWM`, its current memory.

    Raises
    ------
    OSError
        If the operating system does not support this.
    """
    Path("/proc/self/clear_refs").write_text("5")


def gpu_pool_bytes() -> int:
    """Return the size of CuPy's memory pool on the GPU, which only grows during a run."""
    return int(importlib.import_module("cupy").get_default_memory_pool().total_bytes())
