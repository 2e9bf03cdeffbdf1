"""Turns: runs of several threads use a GPU, or Kokkos, one after the other.

Turns are reentrant: a progress function may start another run in the turn of its own run.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jetpy.engines.threads import fork_safe_lock

KOKKOS: AbstractContextManager[Any] = fork_safe_lock()
"""The turn of Kokkos, which has one set of threads and one memory for sums per process."""
_gpus: dict[int, AbstractContextManager[Any]] = {}


def turn_on_gpu(device: int) -> AbstractContextManager[Any]:
    """Return the turn of a GPU, given its index.

    A CUDA graph cannot be captured while another thread synchronises the device.
    """
    return _gpus.setdefault(device, fork_safe_lock())


def turn_of(name: str, device: int | None) -> AbstractContextManager[Any]:
    """Return the turn of a back end; a context that does nothing if the back end needs none."""
    if name.startswith("kokkos"):
        return KOKKOS
    return nullcontext() if device is None else turn_on_gpu(device)
