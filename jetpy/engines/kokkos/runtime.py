"""Finds PyKokkos and starts Kokkos in this process, once and with one number of threads."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from jetpy.engines import gpu
from jetpy.engines.gpu import LOST
from jetpy.engines.threads import available_threads, limit_spinning, openmp_is_lost
from jetpy.errors import BackendError

_threads: int | None = None
"""How many threads Kokkos was started with; None before."""
_device: int | None = None
"""The GPU that it runs on; None where nobody has asked."""


def check_space(space: str) -> None:
    """Refuse an execution space that a fork has taken away.

    Raises
    ------
    BackendError
        If that is the GPU, or OpenMP where Kokkos cannot do without its threads.
    """
    if space == "Cuda":
        gpu.check_after_fork()
    if space == "OpenMP" and openmp_is_lost() and not _has("Serial"):
        raise BackendError(f"OpenMP cannot be used in a process {LOST.format('it')}")


def check_present(space: str, device: int | None = None) -> None:
    """Look for what a back end needs, without starting anything.

    Parameters
    ----------
    space : {'Cuda', 'OpenMP', 'Serial'}
        Kokkos execution space.
    device : int, optional
        Number of a GPU.

    Raises
    ------
    BackendError
        If something is missing; the message says what.
    OptionError
        If there is no such GPU.
    """
    for package in ("pykokkos", "kokkos"):
        if find_spec(package) is None:
            raise BackendError(
                f"PyKokkos is not installed: this Python ({sys.executable}) has no package "
                f"{package!r}. Build it from source as docs/kokkos.md describes"
            )
    check_space(space)
    if space == "Cuda":
        _check_gpu(device)
    limit_spinning()
    if not _has(space):
        raise BackendError(
            f"PyKokkos on this machine was built without the {space} back end of Kokkos"
        )


def _has(space: str) -> bool:
    """Whether Kokkos was built with an execution space."""
    return bool(_import("kokkos").get_device_available(space))


def _check_gpu(device: int | None) -> None:
    if find_spec("cupy") is None:
        raise BackendError("kokkos-cuda needs CuPy: pip install cupy-cuda12x (or cupy-cuda13x)")
    cupy = _import("cupy")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"CUDA finds no usable GPU: {error}") from error
    if count == 0:
        raise BackendError("CUDA finds no usable GPU")
    gpu.check_device(device or 0, count)


def start(threads: int | None, device: int | None = None) -> int:
    """Start Kokkos unless it runs; return its number of CPU threads.

    Kokkos takes its threads and its GPU when it starts and keeps them until the process ends. It
    has one thread where OpenMP's are lost by a fork.

    Parameters
    ----------
    threads : int, optional
        CPU threads; where Kokkos runs already, those that it has, else all available ones.
    device : int, optional
        Number of the GPU to start with; Kokkos chooses by default.

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
                "other code in this process has already started Kokkos; leave out the number of "
                "threads, or call jetpy before that code"
            )
        count = threads or available_threads()
        with _settings(count, device):
            _import("pykokkos")
        _threads = count
    if threads not in (None, _threads):
        raise BackendError(
            f"Kokkos runs with {_threads} threads in this process and cannot change to {threads}; "
            "use the same number of threads in the whole process"
        )
    return _threads


def device_of_kokkos(device: int | None) -> int:
    """Return the number of the GPU that Kokkos, which runs, has taken.

    Raises
    ------
    BackendError
        If that is not the one asked for.
    """
    global _device
    if _device is None:
        _device = int(_import("cupy").cuda.runtime.getDevice())
    if device not in (None, _device):
        raise BackendError(
            f"Kokkos runs on GPU {_device} in this process and cannot change to {device}; use one "
            "GPU per process, or the back end cuda"
        )
    return _device


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{package} is installed but cannot be imported: {error!r}") from error


@contextmanager
def _settings(threads: int, device: int | None) -> Iterator[None]:
    """Set what Kokkos reads at its start: environment variables and the command line."""
    os.environ.setdefault("OMP_PROC_BIND", "false")
    chosen = {"KOKKOS_NUM_THREADS": f"{threads}"}
    if device is not None:
        chosen["KOKKOS_DEVICE_ID"] = f"{device}"
    arguments, before = sys.argv, {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    sys.argv = arguments[:1]
    try:
        yield
    finally:
        sys.argv = arguments
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
