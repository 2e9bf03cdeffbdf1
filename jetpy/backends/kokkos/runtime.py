"""Finds PyKokkos and starts Kokkos in this process, once and with one number of threads."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from jetpy.backends.threads import after_fork, available_threads, limit_spinning, openmp_is_lost
from jetpy.errors import BackendError

_threads: int | None = None
"""How many threads Kokkos was started with; None before."""
LOST = (
    "forked from one that uses {}: start processes by multiprocessing's method spawn or "
    "forkserver, or use the back end numba there"
)
_gpu_is_lost = False


@after_fork
def _look_for_cuda() -> None:
    global _gpu_is_lost
    _gpu_is_lost = _gpu_is_lost or "cupy" in sys.modules


def check_after_fork(space: str) -> None:
    """Refuse an execution space that a fork has taken away.

    Raises
    ------
    BackendError
        If that is the GPU, or OpenMP where Kokkos cannot do without its threads.
    """
    if space == "Cuda" and _gpu_is_lost:
        raise BackendError(f"CUDA cannot be used in a process {LOST.format('CUDA')}")
    if space == "OpenMP" and openmp_is_lost() and not _has("Serial"):
        raise BackendError(f"OpenMP cannot be used in a process {LOST.format('it')}")


def check_present(space: str) -> None:
    """Look for what a back end needs, without starting anything.

    Parameters
    ----------
    space : {'Cuda', 'OpenMP', 'Serial'}
        Kokkos execution space.

    Raises
    ------
    BackendError
        If something is missing; the message says what.
    """
    for package in ("pykokkos", "kokkos"):
        if find_spec(package) is None:
            raise BackendError(
                f"PyKokkos is not installed: this Python ({sys.executable}) has no package "
                f"{package!r}. It is built from source, see https://github.com/kokkos/pykokkos"
            )
    check_after_fork(space)
    if space == "Cuda":
        _check_gpu()
    limit_spinning()
    if not _has(space):
        raise BackendError(f"this machine's PyKokkos was built without Kokkos's {space} back end")


def _has(space: str) -> bool:
    """Whether Kokkos was built with an execution space."""
    return bool(_import("kokkos").get_device_available(space))


def _check_gpu() -> None:
    if find_spec("cupy") is None:
        raise BackendError("kokkos-cuda needs cupy: pip install cupy-cuda12x (or -cuda13x)")
    cupy = _import("cupy")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"no GPU that CUDA can use: {error}") from error
    if count == 0:
        raise BackendError("no GPU that CUDA can use")


def start(threads: int | None) -> int:
    """Start Kokkos unless it runs; return its number of CPU threads.

    Kokkos takes its threads when it starts and keeps them until the process ends. It has one
    where OpenMP's are lost by a fork.

    Parameters
    ----------
    threads : int, optional
        CPU threads; where Kokkos runs already, those that it has, else all available ones.

    Raises
    ------
    BackendError
        If PyKokkos cannot be imported, or Kokkos runs already with another number of threads, or
        was not started before OpenMP was lost: it would wait for ever.
    """
    global _threads
    if openmp_is_lost():
        if _threads is None:
            raise BackendError(f"Kokkos cannot start in a process {LOST.format('OpenMP')}")
        return 1
    if _threads is None:
        if _import("kokkos").is_initialized() and threads is not None:
            raise BackendError(
                "other code in this process has started Kokkos: leave out the number of threads, "
                "or call jetpy before that code"
            )
        count = threads or available_threads()
        with _settings(count):
            _import("pykokkos")
        _threads = count
    if threads not in (None, _threads):
        raise BackendError(
            f"Kokkos runs with {_threads} threads in this process and cannot change to {threads}: "
            "use one number of threads per process"
        )
    return _threads


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{package} is installed but cannot be imported: {error!r}") from error


@contextmanager
def _settings(threads: int) -> Iterator[None]:
    """Set what Kokkos reads at its start: environment variables and the command line."""
    os.environ.setdefault("OMP_PROC_BIND", "false")
    arguments, before = sys.argv, os.environ.get("KOKKOS_NUM_THREADS")
    os.environ["KOKKOS_NUM_THREADS"] = str(threads)
    sys.argv = arguments[:1]
    try:
        yield
    finally:
        sys.argv = arguments
        if before is None:
            del os.environ["KOKKOS_NUM_THREADS"]
        else:
            os.environ["KOKKOS_NUM_THREADS"] = before
