"""What all back ends on a GPU have in common: when to leave work to the host, and how forks end."""

from __future__ import annotations

import sys
from typing import Any

from jetpy.engines.base import Backend
from jetpy.engines.memory import Memory
from jetpy.engines.threads import after_fork, available_threads
from jetpy.errors import BackendError, OptionError

LONGEST_ROW = 256
"""Degree above which one thread of a GPU takes too long over a row."""
WARP_SIZE = 32
HOST_THREADS = min(8, available_threads())
"""More gain nothing on small levels."""
HOST_SIZE = 50_000
"""Vertices and directed edges up to which a level is refined sooner on the host's processors."""
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
    """Refuse a GPU that a fork has taken away.

    Raises
    ------
    BackendError
        If this process was forked from one that may use CUDA.
    """
    if _is_lost:
        raise BackendError(f"CUDA cannot be used in a process {LOST.format('CUDA')}")


def prefer_gpu(backend: Backend, host: Backend) -> None:
    """Have a back end treated as one on a GPU; small levels go to that of the host."""
    backend.copies = True
    backend.is_asynchronous, backend.warp_size = True, WARP_SIZE
    backend.longest_row = LONGEST_ROW
    backend.host_engine, backend.host_size = host, HOST_SIZE


def check_device(device: int, count: int) -> None:
    """Refuse the number of a GPU that is not there.

    Raises
    ------
    OptionError
        If it is not among those of `count` GPUs.
    """
    if device >= count:
        gpus = "0" if count == 1 else f"0..{count - 1}"
        raise OptionError(f"device is {device}; it must be {gpus} on this machine")


class LostGPU:
    """In place of a GPU's memory in a forked process, which can neither use nor free it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        check_after_fork()
        raise AttributeError(name)
