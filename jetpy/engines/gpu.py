"""Common code of back ends on a GPU: small levels run on the host, and forks lose the GPU."""

from __future__ import annotations

import sys
from typing import Any

from jetpy.engines.memory import Memory
from jetpy.engines.threads import after_fork, available_threads
from jetpy.errors import BackendError, OptionError

LONGEST_ROW = 256
"""Degree above which a row takes too long for one GPU thread."""
WARP_SIZE = 32
HOST_THREADS = min(16, available_threads())
"""Threads of the host engine, for the tasks of the coarsest level and the flows of a turn; launches
on small levels use fewer."""
HOST_SIZE = 50_000
"""Maximum of vertices plus directed edges for which refinement of a level is faster on the host."""
LOST = (
    "that was forked from a process using {}: start processes by the multiprocessing method "
    "spawn or forkserver, or use the back end cpu there"
)
_is_lost = False


@after_fork
def _look_for_cuda() -> None:
    global _is_lost
    _is_lost = _is_lost or "cupy" in sys.modules


def check_after_fork() -> None:
    """Check that this process has not lost the GPU by a fork.

    Raises
    ------
    BackendError
        If this process was forked from one that may use CUDA.
    """
    if _is_lost:
        raise BackendError(f"CUDA cannot be used in a process {LOST.format('CUDA')}")


def check_device(device: int, count: int) -> None:
    """Check the index of a GPU.

    Raises
    ------
    OptionError
        If it is not below `count`, the number of GPUs.
    """
    if device >= count:
        gpus = "0" if count == 1 else f"0..{count - 1}"
        raise OptionError(f"device is {device}; it must be {gpus} on this machine")


class LostGPU:
    """Replaces the memory of a GPU in a forked process, which can neither use nor free it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        check_after_fork()
        raise AttributeError(name)
